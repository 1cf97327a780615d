// The part of R_L(U, v) that is a polynomial: R_∞, and what linear attention over L tokens adds to it.
#pragma once

#include "largo/icl/regression_problem.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// ½ E_{w, x_q} [ (c - y)² + share (c² + κ s²) ], share = 1/L for linear attention and 0 for R_∞, in the
/// layout of to_vector(). Over x_q in closed form, over w, of which it has degree 4, by a rule of degree 5
/// with 2d² + 1 nodes. Error: rounding, times some d² for the negative weights of the rule. Cost: 20 µs for d
/// = 5.
class PolynomialRisk final : public Risk {
 public:
  PolynomialRisk(const RegressionProblem& problem, double share);
  Eigen::Index size() const override { return (d_ + 1) * (d_ + 2); }
  RiskPoint at(const ConstVectorRef& parameters) const override;

 private:
  RegressionProblem problem_;
  double share_;
  Eigen::Index d_;
  Matrix prior_root_;
};

/// Γ_w h for the covariance Γ_w of tokens (x, <w, x> + ε), given S = Σ.
Vector token_covariance_product(const Matrix& S, double noise, const Vector& w, const Vector& h);

}  // namespace largo
