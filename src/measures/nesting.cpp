#include "largo/measures/nesting.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "largo/measures/affine.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/numerics/check.hpp"

namespace largo {
namespace {

Nesting nesting_of(const Measure& law) {
  if (const auto* mixture = dynamic_cast<const MixtureMeasure*>(&law)) return mixture->nesting();
  if (const auto* image = dynamic_cast<const AffineMeasure*>(&law)) return image->nesting();
  if (const auto* pair = dynamic_cast<const IndependentPair*>(&law)) return pair->nesting();
  return {};
}

}  // namespace

Nesting Nesting::around(std::string_view function, const std::vector<MeasurePtr>& parts) {
  Nesting result{0, 0};
  for (const MeasurePtr& part : parts) {
    const Nesting inner = nesting_of(*part);
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

}  // namespace largo
