// The error of attention over L Gaussian tokens, from those prompts alone in which no weight exceeds a bound.
//
// Scores are s g with g standard normal, and the weights before normalisation are e^{s g}. Let E be the event
// that all of them are at most M. On E every expectation is over tokens with g <= ln M / s, which are still
// independent, so the formula of score_law_error.hpp holds with expectations restricted to these: with
// Φ_k[h](t) = E[h(g) e^{ksg} e^{-t e^{sg}}; e^{sg} <= M] and φ = Φ_0[1],
//
//   E[(A − s)² + c P_2; E] = ∫_0^∞ t { L Φ_2[(g − s)² + c] φ^{L-1} + L(L-1) Φ_1[g − s]² φ^{L-2} } dt,
//   P(E) = Φ(ln M / s)^L,
//
// where A = Σ p_i g_i is the average of attention along the scores, s is its limit, and c is the number of
// directions that the scores do not see, each with error P_2.
#pragma once

namespace largo::exact {

struct TruncatedError {
  double probability = 1;  ///< P(E)
  double beyond = 0;       ///< 1 − P(E), to full relative accuracy
  double error = 0;        ///< E[(A − s)² + c P_2; E]
};

/// Domain: 0 < s <= 10, 2 <= L <= 1e22, M > 0, c >= 0; otherwise InputError. Relative error: 1e-10 of the
/// error without the restriction. (For longer prompts rounding in Φ_1, which nearly vanishes, would count.)
/// Cost: 10 ms.
TruncatedError truncated_error(double s, double L, double largest_weight, double other_directions);

/// Mean and variance of the weight e^{sg} of one token, counted as zero where it exceeds M. Domain: 0 < s <=
/// 10, M > 0.
struct TruncatedWeight {
  double mean = 0, variance = 0;
};
TruncatedWeight truncated_weight(double s, double largest_weight);

}  // namespace largo::exact
