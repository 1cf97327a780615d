// A check of the Lemma (Castin et al. 2025): over a Gaussian prompt N(m, Γ), softmax attention is the affine
// map z -> V m + V Γ U z.
//
// Each case draws d in 1..32, m, Γ (singular in every third case), U, V and a query. It compares the closed
// form with attention computed from its definition: the score <z',a> is Gaussian, so the two integrals of the
// definition are one-dimensional, and the trapezoidal rule computes them to rounding error. Then prompts of
// growing length L are drawn, and the squared distance to the limit must fall like 1/L.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/runtime/execution.hpp"

namespace largo {

struct LemmaSettings {
  std::uint64_t seed = 1;
  int cases = 1000;
  std::vector<std::int64_t> lengths = {100, 1000, 10000, 100000};
  int prompts = 64;  ///< per length
};

struct LemmaReport {
  int cases = 0;
  int singular_cases = 0;
  double worst_error = 0;  ///< largest ‖closed form - definition‖ / ‖definition‖ over the cases

  struct AtLength {
    std::int64_t length;
    double mean_squared_distance;  ///< mean squared distance of T[prompt] from the limit
    double standard_error;
  };
  std::vector<AtLength> distances;
  double slope = 0;        ///< slope of log distance against log L, by least squares
  double slope_error = 0;  ///< standard error of the slope
};

LemmaReport check_lemma(const LemmaSettings& settings, const Execution& execution = {});

}  // namespace largo
