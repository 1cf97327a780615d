#include "icl/assumed_regression.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "concentration/quadratic_moments.hpp"
#include "concentration/tilted_moments.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::icl {
namespace {

using concentration::LawPiece;
using concentration::PieceKind;

constexpr const char* kAssumedRegression = "task_assumptions";

// Nodes and weights for polynomials of degree 17 in a standard normal variable.
constexpr Eigen::Index kHermite = 9;
numerics::SymmetricEigenvalues hermite_rule() {
  Matrix jacobi = Matrix::Zero(kHermite, kHermite);
  for (Eigen::Index k = 1; k < kHermite; ++k)
    jacobi(k, k - 1) = jacobi(k - 1, k) = std::sqrt(static_cast<double>(k));
  return numerics::symmetric_eigenvalues(jacobi);
}

}  // namespace

std::optional<double> AssumedRegression::task_norm(int p) const {
  const Eigen::Index e = prior.mean.size();
  const auto moment = norm_moment(prior, Matrix::Identity(e, e), Vector::Zero(e), Matrix::Zero(e, e), p);
  if (!moment) return std::nullopt;
  const double rows = static_cast<double>(laws.outputs * d()) / static_cast<double>(e);
  return std::sqrt(rows) * std::pow(moment->value, 0.5 / p);
}

std::optional<double> AssumedRegression::map_norm(int p) const {
  const auto W = task_norm(p);
  if (!W || !noise) return W ? std::optional(1 + *W) : std::nullopt;
  if (!scale) return 2 + *W;
  const Matrix I = Matrix::Identity(1, 1);
  const auto s = norm_moment(*scale, I, Vector::Zero(1), Matrix::Zero(1, 1), p);
  return s ? std::optional(1 + *W + std::pow(s->value, 0.5 / p)) : std::nullopt;
}

std::optional<double> AssumedRegression::largest_map() const {
  const Eigen::Index e = laws.prior->dimension();
  const auto W = concentration::reach(*laws.prior, Matrix::Identity(e, e), Vector::Zero(e));
  const auto s = !noise   ? std::optional(0.0)
                 : !scale ? std::optional(1.0)
                          : concentration::reach(*laws.noise_scale, Matrix::Identity(1, 1), Vector::Zero(1));
  if (!W || !s) return std::nullopt;
  const double rows = static_cast<double>(laws.outputs * d()) / static_cast<double>(e);
  return 1 + std::sqrt(rows) * *W + *s;
}

std::optional<double> AssumedRegression::base_sigma() const {
  if (!covariates.sigma || (noise && !noise->sigma)) return std::nullopt;
  return std::max(*covariates.sigma, noise ? *noise->sigma : 0);
}

double AssumedRegression::base_mean() const {
  return std::hypot(covariates.mean.norm(), noise ? noise->mean.norm() : 0);
}

bool AssumedRegression::sees_labels() const {
  const Matrix moment = laws.queries->covariance() + queries.mean * queries.mean.transpose();
  const Matrix lower = U.bottomLeftCorner(laws.outputs, d());
  return (lower * moment * lower.transpose()).trace() > 0;
}

bool AssumedRegression::labels_grow() const {
  const Matrix covariance = laws.covariates->covariance();
  const Eigen::Index size = d();
  return std::any_of(prior.pieces.begin(), prior.pieces.end(), [&](const LawPiece& piece) {
    if (piece.kind != PieceKind::normal) return false;
    for (Eigen::Index first = 0; first < piece.root.rows(); first += size) {
      const Matrix root = piece.root.middleRows(first, size);
      if ((root.transpose() * covariance * root).trace() > 0) return true;
    }
    return false;
  });
}

AssumedRegression assumed_regression(const RegressionLaws& laws, const Matrix& U, double score_scale,
                                     std::optional<RegressionProblem> gaussian) {
  AssumedRegression regression;
  regression.laws = LawRegression(laws).laws();  // checks them and fills in defaults
  const Eigen::Index size = regression.size();
  check_shape(kAssumedRegression, "U", U.rows(), U.cols(), size, size);
  check_finite(kAssumedRegression, "U", U);
  regression.U = score_scale * U;
  regression.gaussian = std::move(gaussian);
  regression.covariates = concentration::pieces_of(*regression.laws.covariates);
  regression.queries = concentration::pieces_of(*regression.laws.queries);
  regression.prior = concentration::pieces_of(*regression.laws.prior);
  if (regression.laws.noise) regression.noise = concentration::pieces_of(*regression.laws.noise);
  if (regression.laws.noise_scale) regression.scale = concentration::pieces_of(*regression.laws.noise_scale);
  return regression;
}

double gaussian_task_moment(const AssumedRegression& ask, const Matrix& prior_root, int p) {
  const RegressionProblem& problem = *ask.gaussian;
  const Eigen::Index d = ask.d(), rank = prior_root.cols();
  const numerics::SymmetricEigenvalues rule = hermite_rule();
  const Matrix scores = ask.query_scores();
  const Matrix spread = scores * problem.query_covariance * scores.transpose();
  std::vector<Eigen::Index> digits(static_cast<std::size_t>(rank), 0);
  double sum = 0;
  for (;;) {
    Vector g(rank);
    double weight = 1;
    for (Eigen::Index i = 0; i < rank; ++i) {
      const Eigen::Index node = digits[static_cast<std::size_t>(i)];
      g[i] = rule.values[node];
      weight *= rule.vectors(0, node) * rule.vectors(0, node);
    }
    const Vector w = prior_root * g, label = problem.covariance * w;
    Matrix Gamma(d + 1, d + 1);
    Gamma << problem.covariance, label, label.transpose(), w.dot(label) + problem.noise_variance;
    sum +=
        weight * concentration::gaussian_norm_moment(Vector::Zero(d + 1), Gamma + Gamma * spread * Gamma, p);
    std::size_t place = 0;
    while (place < digits.size() && ++digits[place] == kHermite) digits[place++] = 0;
    if (place == digits.size()) return sum;
  }
}

concentration::MeanRho mean_rho_of_any_task(const AssumedRegression& ask) {
  if (!ask.sees_labels())
    return concentration::mean_rho(ask.covariates, ask.queries, ask.U.topLeftCorner(ask.d(), ask.d()));
  Matrix covariance = Matrix::Zero(ask.size(), ask.size());
  covariance.topLeftCorner(ask.d(), ask.d()) = ask.gaussian->covariance;
  covariance(ask.d(), ask.d()) = ask.gaussian->noise_variance;
  const GaussianMeasure tokens(Vector::Zero(ask.size()), covariance);
  return concentration::mean_rho(concentration::pieces_of(tokens), ask.queries, ask.query_scores());
}

}  // namespace largo::icl
