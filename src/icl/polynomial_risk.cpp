#include "icl/polynomial_risk.hpp"

#include "icl/risk_statistics.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
Vector token_covariance_product(const Matrix& S, double noise, const Vector& w, const Vector& h) {
  const Eigen::Index d = w.size();
  Vector product(d + 1);
  product.head(d) = S * (h.head(d) + h[d] * w);
  product[d] = w.dot(product.head(d)) + noise * h[d];
  return product;
}

PolynomialRisk::PolynomialRisk(const RegressionProblem& problem, double share)
    : problem_(problem),
      share_(share),
      d_(problem.dimension()),
      prior_root_(covariance_root("general_risk", "prior_covariance", problem.prior_covariance).root) {}

RiskPoint PolynomialRisk::at(const ConstVectorRef& parameters) const {
  check_finite("general_risk", "parameters", parameters);
  const RegressionParameters given = to_parameters(parameters, d_);
  const Matrix scores = problem_.score_scale * given.U.leftCols(d_);  // u = scores x_q
  const Matrix& S_q = problem_.query_covariance;
  const Matrix spread = scores * S_q;
  double value = 0;
  Matrix slope_U = Matrix::Zero(d_ + 1, d_);
  Vector slope_v = Vector::Zero(d_ + 1);
  visit_degree_five(prior_root_.cols(), [&](const Vector& omega, double weight) {
    const Vector w = prior_root_ * omega;
    const auto gamma = [&](const Vector& h) {
      return token_covariance_product(problem_.covariance, problem_.noise, w, h);
    };
    const Vector gamma_v = gamma(given.v);
    const Vector map = scores.transpose() * gamma_v;  // the prediction of an infinite prompt is <map, x_q>
    const Vector residual = S_q * (map - w);
    value += weight * 0.5 * residual.dot(map - w);
    Vector pulled = weight * residual;
    if (share_ > 0) {
      double trace = 0;
      Matrix gamma_spread(d_ + 1, d_);
      for (Eigen::Index j = 0; j < d_; ++j) gamma_spread.col(j) = gamma(spread.col(j));
      trace = gamma_spread.cwiseProduct(scores).sum();  // E s²
      const double kappa = given.v.dot(gamma_v);
      const Vector wide = S_q * map;
      value += weight * 0.5 * share_ * (wide.dot(map) + kappa * trace);
      pulled += weight * share_ * wide;
      slope_v += weight * share_ * trace * gamma_v;
      slope_U += weight * share_ * kappa * gamma_spread;
    }
    slope_v += gamma(scores * pulled);
    slope_U += gamma_v * pulled.transpose();
  });
  RiskPoint point{value, 0, {}};
  RegressionParameters slope{Matrix::Zero(d_ + 1, d_ + 1), slope_v};
  slope.U.leftCols(d_) = problem_.score_scale * slope_U;
  point.gradient = to_vector(slope);
  check_risk("general_risk", point);
  return point;
}

}  // namespace largo
