// In-context linear regression in which tasks, covariates and noise may have any law, with one or several
// outputs.
//
// The task is an m x d matrix W. The tokens are (x, y) with y = W x + s ε in R^m; x and ε are independent,
// and the factor s of the noise is drawn with the task. The query is (x_q, 0), and its target is W x_q. Given
// the task, the tokens are the linear image (x, ε) -> (x, W x + s ε) of a pair. So the limit L = ∞ is known
// for every law with a tilt: with a = (a_x, a_y), b = a_x + Wᵀ a_y,
//
//   mean(ν_a) = (m, W m + s ∇Λ_ε(s a_y)),   m = ∇Λ_x(b).
//
// For Gaussian x and ε this is linear in the query, and the average over finite prompts is known, too
// (prompt_risk.hpp). For Rademacher covariates m = tanh(b), coordinate by coordinate.
#pragma once

#include <optional>

#include "largo/icl/prompt_task.hpp"
#include "largo/icl/regression_problem.hpp"

namespace largo {

struct RegressionLaws {
  MeasurePtr covariates;        ///< law of x, on R^d
  MeasurePtr queries = {};      ///< law of x_q; null: that of the covariates
  MeasurePtr prior = {};        ///< law of W, row after row, on R^{md}; or of each row, on R^d; null: N(0, I)
  MeasurePtr noise = {};        ///< law of ε, on R^m; null: no noise
  MeasurePtr noise_scale = {};  ///< law of s, on the line; null: s = 1
  Eigen::Index outputs = 1;     ///< m
};

/// The learner to compare with is ridge regression of each output, with the second moments of prior and
/// noise. If prior and noise are centred and outputs independent, it is the best predictor that is linear in
/// the labels under the squared loss, and the Bayes predictor if they are Gaussian, too.
class LawRegression final : public PromptTask {
 public:
  /// InputError if dimensions do not match, or a law that has to be drawn cannot be.
  explicit LawRegression(RegressionLaws laws);

  Eigen::Index token_dimension() const override { return laws_.covariates->dimension() + laws_.outputs; }
  Eigen::Index query_dimension() const override { return token_dimension(); }
  Eigen::Index output_dimension() const override { return laws_.outputs; }
  PromptDraw draw(const Stream& stream) const override;
  std::string learner() const override { return "ridge"; }
  Vector learn(const Matrix& second_moment, double L, const Vector& query) const override;

  const RegressionLaws& laws() const { return laws_; }
  /// E ‖W x_q‖²
  double mean_square_target() const;
  /// The problem with exact risks and flows that this is, up to the scale of the scores, if all laws are
  /// centred Gaussian and there is one output.
  std::optional<RegressionProblem> gaussian_problem() const;

 private:
  RegressionLaws laws_;
  MeasurePtr base_;                  // law of (x, ε), or of x without noise
  std::vector<Matrix> prior_roots_;  // of the second moment of each row of W
  Vector noise_variances_;           // E s² ε_k²
};

/// A task with the prior and the noise of a problem, but with covariates and queries of another law. That law
/// brings its own covariance. InputError if the dimensions differ.
PromptTaskPtr with_covariates(const RegressionProblem& problem, MeasurePtr covariates);

}  // namespace largo
