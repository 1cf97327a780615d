// In-context linear regression in which covariates and noise may have any law.
//
// The task is w = P ω, ω ~ N(0, I). The tokens are (x, <w, x> + ε) with x and ε independent. The query is
// (x_q, 0), and its target is <w, x_q>. Given w, the tokens are the linear image (x, ε) -> (x, <w, x> + ε) of
// a pair. So the limit L = ∞ is known for every law with a tilt: with a = (a_x, a_y), b = a_x + w a_y,
//
//   mean(ν_a) = (m, <w, m> + ∇Λ_ε(a_y)),   m = ∇Λ_x(b).
//
// For Gaussian x this is linear in the query; for Rademacher covariates m = tanh(b), coordinate by
// coordinate.
#pragma once

#include "largo/icl/prompt_task.hpp"
#include "largo/icl/regression_problem.hpp"

namespace largo {

struct RegressionLaws {
  MeasurePtr covariates;
  MeasurePtr queries;  ///< law of x_q; null: that of the covariates
  Matrix prior_root;   ///< P, d x k; the prior covariance is P Pᵀ
  MeasurePtr noise;    ///< law of ε on the line; null: no noise
};

class RegressionTaskSampler final : public PromptTask {
 public:
  /// InputError if dimensions do not match or P is not finite.
  explicit RegressionTaskSampler(RegressionLaws laws);

  Eigen::Index token_dimension() const override { return laws_.covariates->dimension() + 1; }
  Eigen::Index query_dimension() const override { return laws_.covariates->dimension() + 1; }
  PromptDraw draw(const Stream& stream) const override;

 private:
  RegressionLaws laws_;
  MeasurePtr base_;  // law of (x, ε), or of x without noise
};

/// A task with the prior and the noise of a problem, but with covariates and queries of another law. That law
/// brings its own covariance. InputError if the dimensions differ.
PromptTaskPtr with_covariates(const RegressionProblem& problem, MeasurePtr covariates);

}  // namespace largo
