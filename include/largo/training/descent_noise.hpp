// What steps of finite size on noisy gradients leave above the risk of the flow that they follow.
#pragma once

#include <cstdint>

#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// Of the risk of a descent above that of the flow at the same time.
struct DescentNoise {
  double excess = 0;  ///< its mean
  double spread = 0;  ///< its standard deviation
};

/// Second derivatives, from central differences of the gradient over 1e-5 of each parameter, or 1e-5 where it
/// is below 1: for risks that vary over lengths of order one, errors of 1e-5 of their gradients' rounding,
/// and 1e-10 of their third derivatives' changes. Cost: two gradients for each parameter. Throws Stopped.
Matrix hessian(const Risk& risk, const ConstVectorRef& parameters, const Execution& execution = {});

/// Of a batch's gradient, from the batches first, ..., first + count - 1; at least two.
Matrix gradient_covariance(const StochasticRisk& batches, const ConstVectorRef& parameters,
                           std::int64_t first, std::int64_t count);

/// Of n steps θ ← θ - η (H (θ - θ*) + ξ), E ξ ξᵀ = S, from θ* on. They leave a covariance C in θ: in
/// coordinates where H is diagonal, with ρ_i = 1 - η λ_i,
///
///   C_ij = η² S_ij (1 - (ρ_i ρ_j)^n)/(1 - ρ_i ρ_j),
///
/// and <slope, θ - θ*> + (θ - θ*)ᵀ H (θ - θ*)/2 has mean tr(HC)/2 and, for Gaussian θ, variance
/// slopeᵀ C slope + tr(HCHC)/2. Once small steps have forgotten their start, the mean is η/4 times the trace
/// of S over the directions with curvature; those without cost nothing. `slope` is that of the risk at θ*:
/// zero where the flow came to rest, and where it is not the steps' own drift, which is not in here, adds to
/// the mean.
///
/// Infinite where steps go away from θ*: η λ >= 2, or directions with λ < 0 take more than a tenth of the
/// mean. (Where the risk has symmetries and θ* a slope, there are such directions, but S has nothing there.)
/// InputError for shapes that do not match, numbers that are not finite, or η <= 0.
DescentNoise descent_noise(const ConstVectorRef& slope, const ConstMatrixRef& hessian,
                           const ConstMatrixRef& covariance, double step_size, std::int64_t steps);

}  // namespace largo
