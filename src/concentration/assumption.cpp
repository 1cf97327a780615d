#include "largo/concentration/assumption.hpp"

#include <cstddef>

namespace largo {

const char* name_of(Holds holds) {
  constexpr const char* kNames[] = {"yes", "no", "unknown"};
  return kNames[static_cast<std::size_t>(holds)];
}

const char* name_of(ValueKind kind) {
  constexpr const char* kNames[] = {"exact", "at most", "at least"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace largo
