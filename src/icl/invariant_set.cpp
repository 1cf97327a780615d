#include "largo/icl/invariant_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "icl/risk_statistics.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo {
namespace {

constexpr double kLargestCondition = 1e12;
// Off-diagonal entries below this share are rounding.
constexpr double kDiagonal = 1e-13;

// The inverse from singular values; InputError for a matrix too close to singular.
Matrix inverse(const char* function, const char* argument, const Matrix& matrix) {
  const numerics::SingularValues parts = numerics::singular_values(matrix);
  const double largest = parts.values[0], smallest = parts.values[parts.values.size() - 1];
  if (!(smallest * kLargestCondition > largest)) {
    fail(function, fmt::format("condition number of the {}", argument),
         smallest > 0 ? largest / smallest : std::numeric_limits<double>::infinity(),
         "below 1e12: the default parameters are its inverse; give A and b");
  }
  return parts.right * parts.values.cwiseInverse().asDiagonal() * parts.left.transpose();
}

void check_start(const RegressionProblem& problem, const InvariantPoint& start) {
  const Eigen::Index d = problem.dimension();
  check_shape("regression_flow", "A", start.A.rows(), start.A.cols(), d, d);
  check_finite("regression_flow", "A", start.A);
  check_finite("regression_flow", "b", start.b);
}

// The b > 0 with ‖target‖²/b² - b² = balance, and A = target/b.
InvariantPoint with_balance(const Matrix& target, double balance) {
  const double square = target.squaredNorm();
  if (!(square > 0) || !std::isfinite(square)) {
    fail("infinite_limit", "norm of bA", std::sqrt(square), "positive and finite");
  }
  // b⁴ + balance b² = ‖target‖²: this form of the root does not cancel
  const double root = std::sqrt(balance * balance + 4 * square);
  const double b2 = balance <= 0 ? (root - balance) / 2 : 2 * square / (root + balance);
  const double b = std::sqrt(b2);
  return {target / b, b};
}

// A = E diag(a) Eᵀ.
class DiagonalMap final : public ParameterMap {
 public:
  explicit DiagonalMap(Matrix basis) : basis_(std::move(basis)) {}
  Eigen::Index size() const override { return basis_.rows() + 1; }
  Eigen::Index mapped_size() const override { return basis_.rows() * basis_.rows() + 1; }

  Vector map(const ConstVectorRef& parameters) const override {
    check_size("flow_parameters", "parameters", parameters.size(), size());
    const Matrix A = basis_ * parameters.head(basis_.rows()).asDiagonal() * basis_.transpose();
    Vector mapped(mapped_size());
    mapped << A.reshaped(), parameters[basis_.rows()];
    return mapped;
  }

  Vector pull_back(const ConstVectorRef& /*parameters*/, const ConstVectorRef& gradient) const override {
    const Eigen::Index d = basis_.rows();
    const Matrix slope = gradient.head(d * d).reshaped(d, d);
    Vector pulled(size());
    pulled << (basis_.transpose() * slope * basis_).diagonal(), gradient[d * d];
    return pulled;
  }

 private:
  Matrix basis_;
};

// A = a I/√d.
class PlanarMap final : public ParameterMap {
 public:
  explicit PlanarMap(Eigen::Index d) : d_(d), scale_(1 / std::sqrt(static_cast<double>(d))) {}
  Eigen::Index size() const override { return 2; }
  Eigen::Index mapped_size() const override { return d_ * d_ + 1; }

  Vector map(const ConstVectorRef& parameters) const override {
    check_size("flow_parameters", "parameters", parameters.size(), size());
    Vector mapped(mapped_size());
    mapped << Matrix(scale_ * parameters[0] * Matrix::Identity(d_, d_)).reshaped(), parameters[1];
    return mapped;
  }

  Vector pull_back(const ConstVectorRef& /*parameters*/, const ConstVectorRef& gradient) const override {
    const Matrix slope = gradient.head(d_ * d_).reshaped(d_, d_);
    return Vector{{scale_ * slope.trace(), gradient[d_ * d_]}};
  }

 private:
  Eigen::Index d_;
  double scale_;
};

}  // namespace

InvariantPoint paper_start(const RegressionProblem& problem, double alpha, const ConstMatrixRef& theta) {
  check(problem);
  check_positive("paper_start", "alpha", alpha);
  check_size("paper_start", "rows of theta", theta.rows(), problem.dimension());
  check_finite("paper_start", "theta", theta);
  const Matrix square = theta * theta.transpose();
  const double norm = square.norm();
  if (!(norm > 0) || !std::isfinite(norm)) fail("paper_start", "norm of theta", norm, "positive");
  return {alpha / norm * square, alpha};
}

InvariantPoint paper_start(const RegressionProblem& problem, double alpha) {
  return paper_start(problem, alpha, Matrix::Identity(problem.dimension(), problem.dimension()));
}

double largest_admissible_alpha(const RegressionProblem& problem) {
  const double norm = numerics::operator_norm(problem.covariance) * std::sqrt(std::abs(problem.score_scale));
  return std::sqrt(2.0) / (std::pow(static_cast<double>(problem.dimension()), 0.25) * norm);
}

InvariantPoint infinite_limit(const RegressionProblem& problem, double balance) {
  check(problem);
  check_finite("infinite_limit", "balance", balance);
  if (problem.score_scale == 0) fail("infinite_limit", "score_scale", 0, "other than zero");
  return with_balance(inverse("infinite_limit", "covariance", problem.covariance) / problem.score_scale,
                      balance);
}

InvariantPoint best_linear(const RegressionProblem& problem, const LengthLaw& L) {
  check(problem);
  if (problem.score_scale == 0) fail("best_linear", "score_scale", 0, "other than zero");
  const Matrix &S = problem.covariance, &Omega = problem.prior_covariance;
  const double label = (S * Omega).trace() + problem.noise_variance;
  const double tokens = L.harmonic_mean();
  const Matrix moment = (1 + 1 / tokens) * S * Omega * S + label / tokens * S;
  return with_balance(inverse("best_linear", "second moment", moment) * S * Omega / problem.score_scale, 0);
}

std::shared_ptr<const ParameterMap> flow_parameters(const RegressionProblem& problem,
                                                    const InvariantPoint& start) {
  check(problem);
  check_start(problem, start);
  const Eigen::Index d = problem.dimension();
  const Matrix* all[] = {&problem.covariance, &problem.query_covariance, &problem.prior_covariance, &start.A};
  const auto scalar = [](const Matrix* matrix) {
    return *matrix == (*matrix)(0, 0) * Matrix::Identity(matrix->rows(), matrix->cols());
  };
  if (std::all_of(std::begin(all), std::end(all), scalar)) return std::make_shared<PlanarMap>(d);
  // The eigenbasis of a combination without accidental multiplicities is the common one, if there is one.
  Matrix combination = Matrix::Zero(d, d);
  double weight = 1;
  for (const Matrix* matrix : all) {
    const double norm = matrix->norm();
    if (norm > 0) combination += weight / norm * *matrix;
    weight *= 0.6180339887;
  }
  combination += 4 * Matrix::Identity(d, d);  // positive definite: singular vectors are eigenvectors
  if (start.A.isApprox(start.A.transpose(), kDiagonal)) {
    const Matrix basis = numerics::singular_values(0.5 * (combination + combination.transpose())).right;
    const auto diagonal = [&](const Matrix* matrix) {
      Matrix rotated = basis.transpose() * *matrix * basis;
      rotated.diagonal().setZero();
      return rotated.norm() <= kDiagonal * static_cast<double>(d) * matrix->norm();
    };
    if (std::all_of(std::begin(all), std::end(all), diagonal)) return std::make_shared<DiagonalMap>(basis);
  }
  return identity_map(d * d + 1);
}

}  // namespace largo
