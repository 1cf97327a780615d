#include "icl/polynomial_risk.hpp"

#include "icl/risk_statistics.hpp"

namespace largo::icl {

Vector token_covariance_product(const Matrix& S, double noise, const Vector& w, const Vector& h) {
  const Eigen::Index d = w.size();
  Vector product(d + 1);
  product.head(d) = S * (h.head(d) + h[d] * w);
  product[d] = w.dot(product.head(d)) + noise * h[d];
  return product;
}

PolynomialRisk::PolynomialRisk(const RegressionProblem& problem, double share)
    : coordinates_(problem), share_(share) {
  const Eigen::Index k = coordinates_.tasks().cols(), nodes = 2 * k * k + 1;
  Matrix omegas(k, nodes);
  weights_.resize(nodes);
  Eigen::Index n = 0;
  visit_degree_five(k, [&](const Vector& omega, double weight) {
    omegas.col(n) = omega;
    weights_[n++] = weight;
  });
  const Matrix tasks = coordinates_.tasks() * omegas;
  w_hat_ = coordinates_.tokens().transpose() * tasks;
  targets_ = coordinates_.queries().transpose() * tasks;
}

RiskPoint PolynomialRisk::at(const ConstVectorRef& parameters) const {
  const StandardParameters given = coordinates_.from(parameters);
  const double noise = coordinates_.noise();
  // For each node of w: k = v̂ + v_y ŵ and t = <ŵ, k> + τ² v_y; infinite prompts predict <map, χ>.
  Matrix k = given.v_y * w_hat_;
  k.colwise() += given.v_hat;
  const Vector t = w_hat_.cwiseProduct(k).colwise().sum().transpose().array() + noise * given.v_y;
  const Matrix map = given.hidden.transpose() * k + given.label * t.transpose();
  const Matrix miss = map - targets_;
  RiskPoint point;
  point.value = 0.5 * weights_.dot(miss.colwise().squaredNorm());
  Matrix pulled = miss;
  if (share_ > 0) pulled += share_ * map;
  pulled = pulled * weights_.asDiagonal();
  const Vector to_t = pulled.transpose() * given.label;
  Matrix to_k = given.hidden * pulled + w_hat_ * to_t.asDiagonal();
  StandardParameters slope;
  slope.hidden = k * pulled.transpose();
  slope.label = pulled * t;
  slope.v_y = noise * to_t.sum();
  if (share_ > 0) {
    // E s² over χ, and κ: the risk contains ½ share κ E s²
    const Vector norms = w_hat_.colwise().squaredNorm().transpose().array() + noise;
    const Vector along = w_hat_.transpose() * (given.hidden * given.label);
    const Vector squares =
        given.label.squaredNorm() * norms + Vector(2 * along.array() + given.hidden.squaredNorm());
    const Vector kappa = k.colwise().squaredNorm().transpose().array() + noise * given.v_y * given.v_y;
    point.value +=
        0.5 * share_ * weights_.dot(map.colwise().squaredNorm().transpose() + kappa.cwiseProduct(squares));
    const Vector with_kappa = share_ * weights_.cwiseProduct(kappa);
    const Vector with_squares = share_ * weights_.cwiseProduct(squares);
    const Vector moved = w_hat_ * with_kappa;
    slope.hidden += with_kappa.sum() * given.hidden + moved * given.label.transpose();
    slope.label += given.hidden.transpose() * moved + with_kappa.dot(norms) * given.label;
    to_k += k * with_squares.asDiagonal();
    slope.v_y += noise * given.v_y * with_squares.sum();
  }
  slope.v_hat = to_k.rowwise().sum();
  slope.v_y += w_hat_.cwiseProduct(to_k).sum();
  point.gradient = coordinates_.gradient(slope);
  check_risk("general_risk", point);
  return point;
}

}  // namespace largo::icl
