// The polynomial part of R_L(U, v): R_∞, and what linear attention over L tokens adds to it.
#pragma once

#include <cmath>

#include "icl/standard_coordinates.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/training/risk.hpp"

namespace largo::icl {

/// ½ E_{w, x_q} [ (c - y)² + share (c² + κ s²) ] with share = 1/L for linear attention and 0 for R_∞, in the
/// layout of to_vector(). The average over x_q is in closed form; that over w, in which it has degree 4, is
/// by a rule of degree 5 with 2d² + 1 nodes. Error: rounding, times about d² for the negative weights of the
/// rule. Cost: 5 µs for d = 5.
class PolynomialRisk final : public Risk {
 public:
  PolynomialRisk(const RegressionProblem& problem, double share);
  Eigen::Index size() const override { return coordinates_.size(); }
  RiskPoint at(const ConstVectorRef& parameters) const override;

 private:
  StandardCoordinates coordinates_;
  double share_;
  Matrix w_hat_, targets_;  // Rᵀw and Qᵀw, one column for each node of w
  Vector weights_;
};

/// A rule for E f(ω), ω ~ N(0, I_n), exact for polynomials of degree 5, with nodes 0, ±√3 e_i, ±√3 e_i ± √3
/// e_j (J. McNamee and F. Stenger, Construction of fully symmetric numerical integration formulas, Numer.
/// Math. 10, 1967).
template <typename Visit>
void visit_degree_five(Eigen::Index n, const Visit& visit) {
  const double root = std::sqrt(3.0);
  const auto size = static_cast<double>(n);
  Vector omega = Vector::Zero(n);
  visit(omega, 1 + size * (size - 7) / 18);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (const double x : {root, -root}) {
      omega[i] = x;
      visit(omega, (4 - size) / 18);
      for (Eigen::Index j = 0; j < i; ++j) {
        for (const double y : {root, -root}) {
          omega[j] = y;
          visit(omega, 1.0 / 36);
        }
        omega[j] = 0;
      }
    }
    omega[i] = 0;
  }
}

/// Γ_w h for the covariance Γ_w of tokens (x, <w, x> + ε), given S = Σ.
Vector token_covariance_product(const Matrix& S, double noise, const Vector& w, const Vector& h);

}  // namespace largo::icl
