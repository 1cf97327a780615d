// Single-location regression: one token of L, the needle, holds the answer, and attention has to find it.
//
// k* and v* are orthogonal unit vectors of R^d. The needle is N(m k*, γ² I), the other tokens are N(0, I),
// all independent; the target is y = <v*, needle> + noise of variance τ². The head predicts f = Σ_i p_i <v,
// z_i> with weights p_i ∝ e^{<u, z_i>}, and R_L(u, v) = ½ E (f - y)². The task is that of Marion, Berthier,
// Biau and Boyer, "Attention layers provably solve single-location regression" (2024), where attention has
// another nonlinearity and m = √(d/2). Nothing is sampled here, and L may be 1e300.
//
//   const SingleLocation problem{.L = 1e6, .signal = 8};
//   best_single_location(problem).excess.value       // of the best a and b, in u = a k*, v = b v*
//
// docs/single-location.md derives the formulas.
#pragma once

#include <cstddef>
#include <memory>

#include "largo/numerics/estimate.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// The needle is found in 1e300 tokens from m = 37 on; at m = 50 two tokens are confused once in 1e270 times.
inline constexpr double kLargestNeedleSignal = 50;

struct SingleLocation {
  double L = 100;             ///< tokens, the needle among them: from 2 to 1e300, or ∞
  double signal = 4;          ///< m, at least 0
  double needle_spread = 1;   ///< γ, from 0.001 to 1000
  double noise_variance = 0;  ///< τ²

  /// ½ (γ² + τ²), the risk of predicting zero.
  double null_risk() const { return 0.5 * (needle_spread * needle_spread + noise_variance); }
};

/// InputError for a problem beyond these limits.
void check(const SingleLocation& problem);

/// R_L in the parameters (u, v), 2d numbers, d >= 2. The first coordinate is that along k*, the second that
/// along v*. Domain: |u| max(1, γ) and |m <u, k*>| up to 1e6. Error: about 1e-13 of the terms, reported as an
/// estimate from above; at L = ∞ only rounding. Cost: 1 ms for |u| up to 3, 20 ms for |u| = 20.
std::shared_ptr<const Risk> single_location_risk(const SingleLocation& problem, std::ptrdiff_t dimension);

/// R_L in the parameters (a, b) of u = a k*, v = b v*, which the gradient flow does not leave:
///   R_L = ½ [γ² E(1 - b q)² + b² E C + τ²],   q the needle's weight, C the sum of squares of the others.
/// All terms are positive for 0 <= b <= 1, so a small risk keeps its relative accuracy. Domain and error: as
/// above. Cost: 0.4 ms for a up to 3.
std::shared_ptr<const Risk> planar_single_location_risk(const SingleLocation& problem);

struct SingleLocationBest {
  double a = 0, b = 0;
  Estimate excess;         ///< R_L - ½ τ², what not knowing the place costs
  Estimate needle_weight;  ///< E q
};

/// The a and b of the least risk. For γ = 1 they are m and 1, and no predictor has a smaller risk
/// (docs/single-location.md). Otherwise b follows from a, and a from the zeros of the slope, searched up to
/// a = 64 max(1, m, √(2 ln L)): of minima that are closer than 10 % only one is seen. Domain: L finite.
/// Error: 1e-12 of the excess. Cost: 1 ms for γ = 1, else 30 to 300 ms.
SingleLocationBest best_single_location(const SingleLocation& problem);

/// The best b at this a, with its excess risk and needle weight. Domain: as above.
SingleLocationBest best_value_scale(const SingleLocation& problem, double a);

}  // namespace largo
