// Upper bounds on the statistics of softmax over L Gaussian scores that are theorems: docs/bounds.md has the
// proofs. Nothing is fitted, and no integral is computed.
#pragma once

namespace largo::exact {

/// An upper bound on E[P_2] = E Σ p_i² for weights p_i ∝ w_i, w_i >= 0 i.i.d. with mean one and E w² = ρ,
/// where y = ρ/L: the least of one and of y/(1 - δ)² + e^{-δ²/2y} over 0 < δ < 1.
struct WeightBound {
  double P2 = 1;
  double delta = 0;  ///< the best δ; 0 if the bound is one
};
WeightBound weight_bound(double log_y);

/// In the notation of softmax_moments.hpp.
struct SoftmaxBounds {
  double P2 = 1;              ///< of E[P_2], E[P_2 - 2 P_3 + P_2²] and E[P_2 - 2 P_3 + 2 P_2²]
  double mse = 0;             ///< of E[(A - s)²]
  double variance_mse = 0;    ///< of E[(B - 1)²]
  double squared_spread = 0;  ///< of E[D]
  double variance_P2 = 0;     ///< of |E[(B - 1) P_2]|
};
/// Domain: 0 <= s <= kLargestScoreSpread, 1 <= L <= kLargestL. Cost: below 1 µs.
SoftmaxBounds softmax_bounds(double s, double L);

}  // namespace largo::exact
