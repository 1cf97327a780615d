// The Bayes risk of in-context regression: no predictor that sees L tokens does better.
//
// Given the tokens the task is Gaussian. Its mean, which is ridge regression with the ridge τ²Ω⁻¹, is the
// best predictor. The risk left over is half the posterior variance of y_q: with X the L x d matrix of the
// x_i and Ω = P Pᵀ,
//
//   R*_L = ½ E tr( Σ_q P (I + Pᵀ XᵀX P/τ²)⁻¹ Pᵀ ),      for τ = 0 its limit, with the projection across XP.
#pragma once

#include <cstdint>

#include "largo/estimation/sample_means.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

struct RidgeFloor {
  double value = 0;
  double standard_error = 0;
  double low = 0, high = 0;  ///< ends of a 95 % interval
  std::int64_t prompts = 0;  ///< 0: nothing was drawn, and the interval shows the numerical error
};

/// Domain: L >= 1 a whole number or infinite; any problem that check() accepts, singular covariances
/// included. Otherwise InputError. Noise below 1e-250 of the largest eigenvalue of Σ^{1/2}ΩΣ^{1/2} counts as
/// none. The result is exact (to 1e-11) if that matrix has rank one; if τ = 0 and either L is at least its
/// rank or all its nonzero eigenvalues are equal (for Σ = Ω = Σ_q = I it is ½ max(0, d - L)); and, to d/L,
/// from L = 2^53 on. Otherwise it is an average over plan.samples draws of XᵀX (or until
/// plan.relative_error). Each draw integrates every entry of the posterior covariance over its own column of
/// X. So, however faint the noise, no rare prompt carries the mean, the deviation of a draw is below its
/// mean, and the interval keeps its level. Bit-identical for every Execution. Cost of a draw: O(d³), 20 µs at
/// d = 5, 0.3 ms at d = 20, for any L. Throws Stopped.
RidgeFloor ridge_floor(const RegressionProblem& problem, double length, const SamplingPlan& plan = {},
                       std::uint64_t seed = 1, const Execution& execution = {});

}  // namespace largo
