// What steps of finite size on noisy gradients leave above the risk: the stationary noise of stochastic
// descent, to first order in the size of its steps.
#pragma once

#include <cstdint>

#include "largo/numerics/matrix.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// Of the risk of a descent above that of the flow at the same time.
struct DescentNoise {
  double excess = 0;  ///< its mean
  double spread = 0;  ///< its standard deviation
};

/// Second derivatives, from central differences of the gradient: errors of some 1e-9 of the largest.
/// Cost: two gradients for each parameter.
Matrix hessian(const Risk& risk, const ConstVectorRef& parameters);

/// Of a batch's gradient, from the batches first, ..., first + count - 1; at least two.
Matrix gradient_covariance(const StochasticRisk& batches, const ConstVectorRef& parameters,
                           std::int64_t first, std::int64_t count);

/// Steps θ ← θ - η (H (θ - θ*) + ξ), E ξ ξᵀ = S, from θ* on, leave a covariance C in θ, and
/// (θ - θ*)ᵀ H (θ - θ*)/2 has mean tr(HC)/2 and, for Gaussian θ, variance tr(HCHC)/2. In coordinates where H
/// is diagonal, after n steps with ρ_i = 1 - η λ_i,
///
///   C_ij = η² S_ij (1 - (ρ_i ρ_j)^n)/(1 - ρ_i ρ_j),
///
/// so that the excess tends to η tr(S)/4 when small steps have forgotten their start, whatever H. Directions
/// without curvature cost nothing. Infinite where steps diverge, η λ >= 2. InputError for shapes that do not
/// match.
DescentNoise descent_noise(const ConstMatrixRef& hessian, const ConstMatrixRef& covariance, double step_size,
                           std::int64_t steps);

}  // namespace largo
