// In-context classification: two Gaussian classes, whose means must be learned from the prompt.
//
// The task is m ~ N(0, s² I). Tokens are (x, y) with y = ±1 equally likely and x = y m + ξ, ξ ~ N(0, Σ). The
// query is (x_q, 0) with x_q of the same law; its target is its label y_q. Meant for the logistic loss.
//
// The limit L = ∞: the tokens are (x, y) = y (m, 1) + (ξ, 0). Along a = (a_x, a_y), with t = <a_x, m> + a_y,
//
//   Λ(a) = log cosh t + a_xᵀ Σ a_x / 2,   mean(ν_a) = (m tanh t + Σ a_x, tanh t).
//
// With U = [[A, 0], [0, 0]] and v = (0, b) the output of the head is o = b tanh <m, A x_q>. For A = Σ⁻¹ its
// sign is that of Fisher's rule, which is the Bayes rule for known m; b sets how confident the head is.
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
  /// The Bayes predictor: its output is the logarithm of the odds of the query's label. Given the prompt, m
  /// has the law N(M̂, S) with S = (I/s² + LΣ⁻¹)⁻¹, M̂ = L S Σ⁻¹ (1/L) Σ y_i x_i, and the output is 2 <x_q, (Σ
  /// + S)⁻¹ M̂>. Only if Σ is regular.
  std::string learner() const override { return precision_.size() > 0 ? "bayes" : ""; }
  Vector learn(const Matrix& second_moment, double L, const Vector& query) const override;

 private:
  double mean_scale_;
  MeasurePtr within_;  // the law of ξ
  MeasurePtr base_;    // the law of (y, ξ)
  Matrix precision_;   // Σ⁻¹, or empty if Σ is singular
};

}  // namespace largo
