// A check of the Lemma (Castin et al. 2025): over a Gaussian prompt N(m, Γ), softmax attention is the affine
// map z -> V m + V Γ Kᵀ Q z, because the law ν that the weights e^{<Kz', Qz>} make of N(m, Γ) is
// N(m + Γ Kᵀ Q z, Γ).
//
// Each case draws d in 1..32, m, Γ (singular in every third case), K and Q of 1 to d rows, V and a query. It
// compares the closed forms with their definitions: scores are Gaussian, so the integrals are one-dimensional
// and the trapezoidal rule computes them to rounding error. Compared are attention itself, the covariance of
// ν, and its log-partition Λ_ν(b) = Λ(a + b) − Λ(a), a = KᵀQz, at random b, which determines the whole law.
// Then prompts of growing length L are drawn, and the squared distance to the limit must fall like 1/L.
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
  /// A negative control: the definitions have Q and K exchanged, so they must not agree with closed forms.
  bool exchanged = false;
  /// Another one: the closed forms are those of tokens of covariance 2Γ.
  bool doubled = false;
};

struct LemmaReport {
  int cases = 0;
  int singular_cases = 0;       ///< those with a singular Γ
  int low_rank_cases = 0;       ///< those where K and Q have fewer rows than columns
  double worst_error = 0;       ///< largest ‖closed form − definition‖ / ‖definition‖ of attention
  double worst_covariance = 0;  ///< the same for the covariance of ν, relative to Γ
  double worst_log_partition = 0;  ///< the same for Λ_ν, relative to 1 + |Λ(a + b)| + |Λ(a)|

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
