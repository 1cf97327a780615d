#include "largo/measures/sub_gaussian.hpp"

#include <algorithm>

#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/independent_pair.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"

namespace largo {
namespace {

template <typename Law>
const Law* as(const Measure& law) {
  return dynamic_cast<const Law*>(&law);
}

}  // namespace

SubGaussianKind sub_gaussian_kind(const Measure& law) {
  using enum SubGaussianKind;
  // What is made of parts says the least that one of them says.
  if (as<GaussianMeasure>(law) || as<RoundMeasure>(law) || as<ProductMeasure>(law)) return smallest;
  if (as<EmpiricalMeasure>(law) || as<EllipticalMeasure>(law)) return at_most;
  if (const auto* image = as<AffineMeasure>(law)) return std::max(at_most, sub_gaussian_kind(*image->base()));
  if (const auto* pair = as<IndependentPair>(law)) {
    return std::max(sub_gaussian_kind(*pair->first()), sub_gaussian_kind(*pair->second()));
  }
  if (const auto* mixture = as<MixtureMeasure>(law)) {
    SubGaussianKind kind = at_most;
    for (const MeasurePtr& part : mixture->components()) kind = std::max(kind, sub_gaussian_kind(*part));
    return kind;
  }
  return at_least;
}

const char* name_of(SubGaussianKind kind) {
  switch (kind) {
    case SubGaussianKind::smallest:
      return "smallest";
    case SubGaussianKind::at_most:
      return "at most";
    case SubGaussianKind::at_least:
      return "at least";
  }
  return "";
}

}  // namespace largo
