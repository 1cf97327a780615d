// Moments of the power sums P_k = Σ_i p_i^k of softmax weights over L i.i.d. scores s g_i, g_i ~ N(0,1).
#pragma once

#include <span>

#include "largo/numerics/estimate.hpp"

namespace largo {

/// The parts sum to at most kLargestPartSum, and at most kMostParts of them are not one.
inline constexpr int kLargestPartSum = 24;
inline constexpr int kMostParts = 8;

/// E[P_{k_1} … P_{k_r}] for parts k_a >= 1, by
///
///   1/Γ(K) ∫_0^∞ t^{K-1} Σ_{set partitions π} L(L-1)…(L-|π|+1) ∏_{B in π} φ_{k_B}(t) φ_0(t)^{L-|π|} dt,
///
/// φ_k(t) = E[e^{ksg} e^{-t e^{sg}}], K = Σ k_a. Domain: as for softmax_moments; InputError for an empty list
/// or a part below one. Relative error: 1e-12, larger for large parts; it comes with its estimate. A value
/// below 1e-308 is zero. At L = 1, and for parts that are all one, the value is 1; at s = 0 it is ∏ L^{1-k}.
/// Cost: 0.1 to 4 ms.
Estimate power_sum_moment(std::span<const int> parts, double s, double L);

struct PowerSumMoments {
  Estimate P2;    ///< E[P_2]
  Estimate P3;    ///< E[P_3]
  Estimate P2P2;  ///< E[P_2²]
};

/// The three moments that the output error, the risk and its gradient need, in one pass: about 0.1 ms.
PowerSumMoments power_sum_moments(double s, double L);

/// log φ_0(t) = log E e^{-t e^{sg}}, the logarithm of the Laplace transform of the log-normal law, at
/// t = e^{log_t}. Domain: 0 <= s <= kLargestScoreSpread, |log_t| <= 700, and log_t <= 34 for 0 < s < 1/4.
/// Relative error: below 1e-13 in both tails. The value is -t e^{s²/2} to first order for small t (zero if
/// that underflows) and falls like -(log t)²/(2 s²) for large t. At s = 0 it is -t. Cost: one to two
/// microseconds.
double log_lognormal_laplace(double log_t, double s);

}  // namespace largo
