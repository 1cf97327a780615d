// How much steps of finite size on noisy gradients raise the risk above that of the flow that they follow.
#pragma once

#include <cstdint>

#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// How far the risk of a descent lies above that of the flow at the same time.
struct DescentNoise {
  double excess = 0;  ///< mean of this difference
  double spread = 0;  ///< standard deviation of this difference
};

/// The matrix of second derivatives, by central differences of the gradient. The step is 1e-5 of each
/// parameter, or 1e-11 of the root mean square of all parameters where that is larger. The error is some 1e5
/// times the rounding of the gradients over the size of a parameter, and 1e-10 of the changes of third
/// derivatives. Cost: two gradients for each parameter. Throws Stopped.
Matrix hessian(const Risk& risk, const ConstVectorRef& parameters, const Execution& execution = {});

/// The covariance of a batch's gradient, from the batches first, ..., first + count - 1. Needs at least two.
Matrix gradient_covariance(const StochasticRisk& batches, const ConstVectorRef& parameters,
                           std::int64_t first, std::int64_t count);

/// The noise of n steps θ ← θ - η (H (θ - θ*) + ξ), E ξ ξᵀ = S, that start at θ*. The steps leave a
/// covariance C in θ. In coordinates where H is diagonal, with ρ_i = 1 - η λ_i,
///
///   C_ij = η² S_ij (1 - (ρ_i ρ_j)^n)/(1 - ρ_i ρ_j),
///
/// and <slope, θ - θ*> + (θ - θ*)ᵀ H (θ - θ*)/2 has mean tr(HC)/2 and, for Gaussian θ, variance
/// slopeᵀ C slope + tr(HCHC)/2. Once small steps have forgotten their start, the mean is η/4 times the trace
/// of S over the directions with curvature; directions without curvature add nothing. `slope` is the slope of
/// the risk at θ*; it is zero where the flow has come to rest. Where it is not zero, the drift of the steps
/// themselves adds to the mean; this function leaves that out.
///
/// The result is infinite if steps move away from θ*: if η λ >= 2, or if directions with λ < 0 take more than
/// a tenth of the mean. (If the risk has symmetries and θ* a slope, such directions exist, but S is zero
/// along them.) InputError for shapes that do not match, numbers that are not finite, or η <= 0.
DescentNoise descent_noise(const ConstVectorRef& slope, const ConstMatrixRef& hessian,
                           const ConstMatrixRef& covariance, double step_size, std::int64_t steps);

}  // namespace largo
