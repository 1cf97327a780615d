// The Bayes risk of in-context regression: no predictor that sees L tokens does better.
//
// Given the tokens the task is Gaussian, and its mean, ridge regression with the ridge τ²Ω⁻¹, predicts best.
// What is left is half the posterior variance of y_q: with X the L x d matrix of the x_i and Ω = P Pᵀ,
//
//   R*_L = ½ E tr( Σ_q P (I + Pᵀ XᵀX P/τ²)⁻¹ Pᵀ ),      for τ = 0 its limit, with the projection across XP.
#pragma once

#include <cstdint>

#include "largo/icl/regression_problem.hpp"
#include "largo/numerics/execution.hpp"
#include "largo/sampling/sample_means.hpp"

namespace largo {

struct RidgeFloor {
  double value = 0;
  double standard_error = 0;
  double low = 0, high = 0;  ///< a 95 % interval
  std::int64_t samples = 0;  ///< 0: the value is exact, and the interval is itself
};

/// Domain: L >= 1 a whole number or infinite; any problem that check() takes, singular covariances too.
/// Otherwise InputError. Noise below 1e-250 of the largest eigenvalue of Σ^{1/2}ΩΣ^{1/2} counts as none.
/// Exact where τ = 0 and L is at least the rank of Σ^{1/2}Ω^{1/2} (zero, if Ω has nothing across Σ), where τ
/// = 0 and this root is isotropic (for Σ = Ω = Σ_q = I, ½ max(0, d - L)), and, to d/L, from L = 2^53 on.
/// Elsewhere sampled, plan.samples times (or to plan.relative_error), XᵀX being drawn by Bartlett's
/// decomposition, with the first two terms of the expansion in 1/√L as controls. The same bits for every
/// Execution. At L equal to that rank and with faint noise a share of order τ of the prompts carries the
/// mean: samples miss it, and are too small by up to that share of the risk of predicting zero. Cost of a
/// sample: O(d³), 2 µs at d = 5, whatever L is. Throws Stopped.
RidgeFloor ridge_floor(const RegressionProblem& problem, double length, const SamplingPlan& plan = {},
                       std::uint64_t seed = 1, const Execution& execution = {});

}  // namespace largo
