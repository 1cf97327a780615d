// In-context linear regression: the task for which this folder computes risks, flows and thresholds.
//
// The task is w ~ N(0, Ω). The tokens are z_i = (x_i, y_i) with x_i ~ N(0, Σ), y_i = <w, x_i> + ε_i,
// ε_i ~ N(0, τ²). The query is (x_q, 0) with x_q ~ N(0, Σ_q), and its label is y_q = <w, x_q>. The prediction
// is <v, T(x_q, 0)>, where T is the average of the tokens with softmax weights e^{γ <z_i, U (x_q, 0)>} (or
// the linear ones). The risk is R_L(U, v) = ½ E (prediction - y_q)². The paper has Ω = I, Σ_q = Σ, τ = 0, γ =
// 1.
//
// A sink may stand in every prompt: tokens of given scores and value zero, such as the constant in the
// denominator of "softmax plus one" (score 0). It takes weight from the tokens; its own size is the logarithm
// of Σ e^score over it. Exact risks and flows on the invariant set know it; what draws prompts refuses it.
#pragma once

#include <limits>

#include "largo/prompts/regression_gradient.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

struct RegressionProblem {
  Matrix covariance;                                       ///< Σ, d x d
  Matrix query_covariance;                                 ///< Σ_q
  Matrix prior_covariance;                                 ///< Ω
  double noise_variance = 0;                               ///< τ²
  double score_scale = 1;                                  ///< γ
  double sink = -std::numeric_limits<double>::infinity();  ///< ln Σ e^score over the sink; -∞: there is none

  bool has_sink() const { return sink > -std::numeric_limits<double>::infinity(); }
  Eigen::Index dimension() const { return covariance.rows(); }
  /// ½ E y_q² = ½ tr ΩΣ_q: the risk of predicting zero.
  double null_risk() const;
  /// The task as the kernels of prompts/ need it. InputError as check().
  RegressionTask task() const;
};

/// The paper's problem: Ω = I, Σ_q = Σ, τ = 0, γ = 1.
RegressionProblem paper_problem(const ConstMatrixRef& covariance);

/// Throws InputError unless the covariances are d x d, symmetric and positive semi-definite, the noise and
/// the scale are finite, the noise is not negative, and the sink is within 300 of zero or -∞.
void check(const RegressionProblem& problem);

/// Throws InputError if there is a sink, for what does not know one.
void refuse_sink(const RegressionProblem& problem);

/// U (column by column), then v, in one vector of (d + 1)² + d + 1 entries. The risks of this folder take
/// their parameters in this form unless stated otherwise. The last column of U has no effect, because the
/// query has no label.
Vector to_vector(const RegressionParameters& parameters);
RegressionParameters to_parameters(const ConstVectorRef& values, Eigen::Index d);

}  // namespace largo
