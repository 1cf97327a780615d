// Coordinates in which tokens, tasks and queries are standard normal.
#pragma once

#include "largo/icl/regression_problem.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::icl {

/// Parameters, or a gradient in them. With Σ = R Rᵀ and Σ_q = Q Qᵀ, tokens are R ξ and queries are Q χ.
/// Scores are then those of û = hidden χ and u_y = label χ, values are those of v̂ and v_y, and ŵ = Rᵀw
/// replaces w. Γ_w has unit covariance, and
///   s² = |û + u_y ŵ|² + τ² u_y²,   c = <û + u_y ŵ, v̂ + v_y ŵ> + τ² u_y v_y.
struct StandardParameters {
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> hidden;
  Vector label, v_hat;
  double v_y = 0;
};

class StandardCoordinates {
 public:
  explicit StandardCoordinates(const RegressionProblem& problem);

  Eigen::Index dimension() const { return d_; }
  Eigen::Index size() const { return (d_ + 1) * (d_ + 2); }
  /// Converts (U, v) in the layout of to_vector(). InputError for another size or non-finite numbers.
  StandardParameters from(const ConstVectorRef& parameters) const;
  /// Converts a gradient in these coordinates to one in (U, v).
  Vector gradient(const StandardParameters& slope) const;

  const Matrix& tokens() const { return tokens_; }    ///< R
  const Matrix& queries() const { return queries_; }  ///< Q
  const Matrix& tasks() const { return tasks_; }      ///< P with Ω = P Pᵀ
  double noise() const { return noise_; }

 private:
  Eigen::Index d_;
  double scale_, noise_;
  Matrix tokens_, queries_, tasks_;
};

}  // namespace largo::icl
