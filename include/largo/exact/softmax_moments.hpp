// Exact statistics of softmax attention over L i.i.d. Gaussian tokens, at one query.
//
// The scores are s g_i with g_i ~ N(0,1) (a common offset does not matter), and the weights are
// p_i ∝ e^{s g_i}. Let P_k = Σ p_i^k, A = Σ p_i g_i, B = Σ p_i (g_i - A)², D = Σ p_i² (g_i - A)². Every
// statistic is a function of s and L alone. As L grows, A -> s and B -> 1, the attention of an infinite
// prompt. docs/moments.md derives the formulas.
#pragma once

#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "largo/exact/length_node.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

// The domain of the exact engine, checked in one place.

/// The largest prompt length. L is a double and need not be an integer.
inline constexpr double kLargestL = 1e300;
inline constexpr double kInfinitePrompt = std::numeric_limits<double>::infinity();
inline constexpr double kLargestScoreSpread = 1e6;

inline void check_score_spread(std::string_view function, double s) {
  if (!(s >= 0 && s <= kLargestScoreSpread)) {
    fail(function, "s", s, "between 0 and 1e6 (the spread of the scores: scale down U, tokens or query)");
  }
}

inline void check_prompt_length(std::string_view function, double L) {
  if (!(L >= 1 && L <= kLargestL) && L != kInfinitePrompt)
    fail(function, "L", L, "between 1 and 1e300, or inf");
}

struct SoftmaxMoments {
  double s = 0;
  double L = 0;
  Estimate P2;      ///< E[P_2]; 1/P2 is the effective number of tokens
  Estimate P3;      ///< E[P_3]
  Estimate P2P2;    ///< E[P_2²]
  Estimate mean;    ///< E[A]
  Estimate bias;    ///< E[A] - s
  Estimate mse;     ///< E[(A - s)²]
  Estimate square;  ///< E[A²]

  Estimate variance;        ///< E[B]
  Estimate variance_mse;    ///< E[(B - 1)²]
  Estimate variance_P2;     ///< E[(B - 1) P_2]
  Estimate squared_spread;  ///< E[D]

  Estimate P2_slope;    ///< d E[P_2] / ds
  Estimate P3_slope;    ///< d E[P_3] / ds
  Estimate P2P2_slope;  ///< d E[P_2²] / ds

  double self_check = 0;  ///< E[P_1²] - 1, computed like the rest: zero except for errors
};

/// Domain: 0 <= s <= kLargestScoreSpread, 1 <= L <= kLargestL or L = ∞; otherwise InputError. Relative
/// errors: below 1e-10 for s <= 30, usually 1e-13. Statistics that vanish at L = 1 (variance, slopes, …) have
/// an absolute error of 1e-14 for L close to 1. Each comes with its estimate. Values below 1e-308, such as
/// P2P2 of a very long prompt, are returned as zero. Cost: 0.03 to 0.6 ms (s <= 10, L <= 1e12), 4 ms at most.
SoftmaxMoments softmax_moments(double s, double L);

/// Σ weight m(s, L) for every member m, also for L itself. Domain: as above, with lengths in increasing order
/// and positive weights. Errors: as above, relative to Σ weight |m|. Cost: lengths within a factor of 10,000
/// share an integral, so that 1, …, 64 cost twice as much as 64 alone.
SoftmaxMoments softmax_moments(double s, std::span<const LengthNode> lengths);

/// The same at every pair, in parallel: all lengths for the first s, then for the next.
std::vector<SoftmaxMoments> softmax_moments(std::span<const double> spreads, std::span<const double> lengths,
                                            const Execution& execution = {});

/// The values of SoftmaxMoments without their errors, under the same names.
struct SoftmaxStatistics {
  double P2 = 0, P3 = 0, P2P2 = 0;
  double mean = 0, bias = 0, mse = 0;
  double variance = 0, variance_mse = 0, variance_P2 = 0, squared_spread = 0;
  double P2_slope = 0, P3_slope = 0, P2P2_slope = 0;

  /// (E[A²] - E[P_2])/s² = 1 - E[P_2] - 6 E[P_3] + 6 E[P_2²]. It falls like 1/s². Its error, relative_error
  /// (E[A²] + E[P_2])/s², is far below that of the sum.
  double F = 0;

  /// Estimate of the largest error over the panel of s, from the interpolation and from the values
  /// interpolated. It is relative to each field, except for fields that change sign or vanish: there it is
  /// relative to P3 (variance_P2) or to s E[∏P_k] (the slopes).
  double relative_error = 0;
};

/// The statistics at one s, at the accuracy and cost of softmax_moments. For many s at one L see
/// softmax_table.hpp.
SoftmaxStatistics softmax_statistics(double s, double L);

// The asymptotes of the exact curves for long prompts, to plot beside them. With ℓ = ln L and x = s/√(2ℓ), up
// to factors of lower order, E[P_2] = L^{-κ(x)}:
//
//   κ = 1 - 2x²             x <= 1/√3        the bulk: many tokens share the weight, E[P_2] ≈ e^{s²}/L
//   κ = (1/x - x)²/4        1/√3 <= x <= 1   a rare token carries the weight
//   κ = 0                   x >= 1           the weights condense on the few largest tokens
//
// Averaged over standard Gaussian queries, with σ the operator norm of Γ^{1/2}U, the error falls like
// L^{-c(σ)}, c(σ) = min_x κ(x) + x²/σ².

/// √(2 ln L), the s at which the weights condense: the transition of the random energy model. Domain: L >= 1.
double condensation_line(double L);

/// κ(s/√(2 ln L)) for s >= 0, L > 1; 0 at L = 1.
double concentration_exponent(double s, double L);

/// e^{s²}/L, the leading term of E[P_2] in the bulk; at most 1.
double bulk_P2(double s, double L);

/// c(σ) = 1 for σ² <= 1/2, (√(1 + 4/σ²) - 1)/2 beyond. Domain: σ > 0.
double averaged_exponent(double sigma);

}  // namespace largo
