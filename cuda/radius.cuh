// The radius that a token of an elliptical law is multiplied by, as in RadialLaw::quantile and RadiusSource
// (src/prompts/token_source.cpp).
#pragma once

#include "draws.cuh"

namespace largo::cuda {

/// The law of the squared radius: values with their cumulative probabilities, or uniform from low to high.
struct RadiusLaw {
  std::uint64_t lane = 0;
  const double *values = nullptr, *cumulative = nullptr;
  std::int32_t count = 0;  // number of values
  double low = 0, high = 0;
};

LARGO_HOST_DEVICE float radius_of(std::uint32_t high, std::uint32_t low, const RadiusLaw& law) {
  const double u = prompts::open_uniform(high, low);
  if (law.count == 0) return static_cast<float>(root(law.low + (law.high - law.low) * u));
  const double all = law.cumulative[law.count - 1], target = u * all;
  int first = 0, last = law.count - 1;  // the first above the target, or the first that makes up the whole
  while (first < last) {
    const int middle = (first + last) / 2;
    if (target < law.cumulative[middle] || law.cumulative[middle] >= all) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return static_cast<float>(root(law.values[first]));
}

}  // namespace largo::cuda
