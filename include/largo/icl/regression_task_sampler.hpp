// In-context linear regression with covariates and noise of any law.
//
// A task w = P ω, ω ~ N(0, I); tokens (x, <w, x> + ε), x and ε independent; a query (x_q, 0) whose target is
// <w, x_q>. Given w the tokens are the linear image (x, ε) -> (x, <w, x> + ε) of a pair, so that the limit
// L = ∞ is known for every law with a tilt: with a = (a_x, a_y), b = a_x + w a_y,
//
//   mean(ν_a) = (m, <w, m> + ∇Λ_ε(a_y)),   m = ∇Λ_x(b).
//
// For Gaussian x it is linear in the query; for Rademacher covariates m = tanh(b), coordinate by coordinate.
#pragma once

#include "largo/icl/prompt_task.hpp"
#include "largo/icl/regression_problem.hpp"

namespace largo {

struct RegressionLaws {
  MeasurePtr covariates;
  MeasurePtr queries;  ///< null: as the covariates
  Matrix prior_root;   ///< P, d x k; the prior covariance is P Pᵀ
  MeasurePtr noise;    ///< on the line; null: none
};

class RegressionTaskSampler final : public PromptTask {
 public:
  /// InputError where dimensions do not match or P is not finite.
  explicit RegressionTaskSampler(RegressionLaws laws);

  Eigen::Index token_dimension() const override { return laws_.covariates->dimension() + 1; }
  Eigen::Index query_dimension() const override { return laws_.covariates->dimension() + 1; }
  PromptDraw draw(const Stream& stream) const override;

 private:
  RegressionLaws laws_;
  MeasurePtr base_;  // of (x, ε), or of x
};

/// The tasks and the noise of a problem, with covariates and queries of another law, which brings its own
/// covariance. InputError where the dimensions differ.
PromptTaskPtr with_covariates(const RegressionProblem& problem, MeasurePtr covariates);

}  // namespace largo
