// In-context classification: two Gaussian classes whose means the prompt must tell.
//
// A task m ~ N(0, s² I); tokens (x, y) with y = ±1 equally likely and x = y m + ξ, ξ ~ N(0, Σ); a query
// (x_q, 0), x_q of the same law, whose target is its label y_q. For the logistic loss.
//
// The limit L = ∞. The tokens are (x, y) = y (m, 1) + (ξ, 0); along a = (a_x, a_y), t = <a_x, m> + a_y,
//
//   Λ(a) = log cosh t + a_xᵀ Σ a_x / 2,   mean(ν_a) = (m tanh t + Σ a_x, tanh t).
//
// With U = [[A, 0], [0, 0]] and v = (0, b) the head says o = b tanh <m, A x_q>: the sign is that of Fisher's
// rule for A = Σ⁻¹, which is Bayes' for known m, and b is how sure the head may be.
#pragma once

#include "largo/icl/prompt_task.hpp"

namespace largo {

class MixtureClassification final : public PromptTask {
 public:
  /// InputError unless s is positive and the covariance symmetric and positive semi-definite.
  MixtureClassification(double mean_scale, const ConstMatrixRef& covariance);

  Eigen::Index token_dimension() const override { return within_->dimension() + 1; }
  Eigen::Index query_dimension() const override { return within_->dimension() + 1; }
  PromptDraw draw(const Stream& stream) const override;

 private:
  double mean_scale_;
  MeasurePtr within_;  // the law of ξ
  MeasurePtr base_;    // of (y, ξ)
};

}  // namespace largo
