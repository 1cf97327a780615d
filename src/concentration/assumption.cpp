#include "largo/concentration/assumption.hpp"

namespace largo {

const char* name_of(Holds holds) {
  switch (holds) {
    case Holds::yes:
      return "yes";
    case Holds::no:
      return "no";
    case Holds::unknown:
      return "unknown";
  }
  return "";
}

const char* name_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::exact:
      return "exact";
    case ValueKind::at_most:
      return "at most";
    case ValueKind::at_least:
      return "at least";
  }
  return "";
}

}  // namespace largo
