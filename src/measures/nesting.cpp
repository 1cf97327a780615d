#include "measures/nesting.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::measures {

Nesting nesting_around(std::string_view function, const std::vector<MeasurePtr>& parts) {
  Nesting result{0, 0};
  for (const MeasurePtr& part : parts) {
    const Nesting inner = part->nesting();
    result.depth = std::max(result.depth, inner.depth);
    result.innermost += inner.innermost;
  }
  ++result.depth;
  if (result.depth > kMostNestedLaws) {
    fail(function, fmt::format("laws are nested more than {} deep: join the weights or the maps into one law",
                               kMostNestedLaws));
  }
  if (result.innermost > kMostInnerLaws) {
    fail(function, "number of laws in it, nested ones included", result.innermost,
         fmt::format("at most {:.0f}", kMostInnerLaws));
  }
  return result;
}

}  // namespace largo::measures
