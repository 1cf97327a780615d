// The asymptotes of the exact curves for long prompts, to plot beside them. With ℓ = ln L and x = s/√(2ℓ), up
// to factors of lower order, E[P_2] = L^{-κ(x)}:
//
//   κ = 1 - 2x²             x <= 1/√3        the bulk: many tokens share the weight, E[P_2] ≈ e^{s²}/L
//   κ = (1/x - x)²/4        1/√3 <= x <= 1   a rare token carries the weight
//   κ = 0                   x >= 1           the weights condense on the few largest tokens
//
// Averaged over standard Gaussian queries, with σ the operator norm of Γ^{1/2}U, the error falls like
// L^{-c(σ)}, c(σ) = min_x κ(x) + x²/σ².
#pragma once

namespace largo {

/// √(2 ln L), the s at which the weights condense: the transition of the random energy model. Domain: L >= 1.
double condensation_line(double L);

/// κ(s/√(2 ln L)) for s >= 0, L > 1; 0 at L = 1.
double concentration_exponent(double s, double L);

/// e^{s²}/L, the leading term of E[P_2] in the bulk; at most 1.
double bulk_P2(double s, double L);

/// c(σ) = 1 for σ² <= 1/2, (√(1 + 4/σ²) - 1)/2 beyond. Domain: σ > 0.
double averaged_exponent(double sigma);

}  // namespace largo
