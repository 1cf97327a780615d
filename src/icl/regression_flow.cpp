#include "largo/icl/regression_flow.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "icl/natural_units.hpp"
#include "icl/risk_statistics.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/icl/regression_risks.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
namespace {

constexpr Eigen::Index kMostDense = 128;
constexpr double kLargestCondition = 1e12;
constexpr double kLeftAtAnEnd = 1e-12;  // of the risk of predicting zero
// Off-diagonal entries below this share are rounding.
constexpr double kDiagonal = 1e-13;

// By singular values; InputError for a matrix too close to singular.
Matrix inverse(const char* function, const char* argument, const Matrix& matrix) {
  const SingularValues parts = singular_values(matrix);
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
  // b⁴ + balance b² = ‖target‖²: the root that does not cancel
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

Vector to_vector(const InvariantPoint& point) {
  Vector values(point.A.size() + 1);
  values << point.A.reshaped(), point.b;
  return values;
}

InvariantPoint to_point(const ConstVectorRef& values, Eigen::Index d) {
  return {values.head(d * d).reshaped(d, d), values[d * d]};
}

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
  const double norm = operator_norm(problem.covariance) * std::sqrt(std::abs(problem.score_scale));
  return std::sqrt(2.0) / (std::pow(static_cast<double>(problem.dimension()), 0.25) * norm);
}

InvariantPoint infinite_limit(const RegressionProblem& problem, double balance) {
  check(problem);
  check_finite("infinite_limit", "balance", balance);
  if (problem.score_scale == 0) fail("infinite_limit", "score_scale", 0, "other than zero");
  return with_balance(inverse("infinite_limit", "covariance", problem.covariance) / problem.score_scale,
                      balance);
}

InvariantPoint best_linear(const RegressionProblem& problem, double L) {
  check(problem);
  check_length("best_linear", L);
  if (problem.score_scale == 0) fail("best_linear", "score_scale", 0, "other than zero");
  const Matrix &S = problem.covariance, &Omega = problem.prior_covariance;
  const double label = (S * Omega).trace() + problem.noise;
  const Matrix moment = (1 + 1 / L) * S * Omega * S + label / L * S;
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
  // A combination without accidental multiplicities has the common basis, if there is one.
  Matrix combination = Matrix::Zero(d, d);
  double weight = 1;
  for (const Matrix* matrix : all) {
    const double norm = matrix->norm();
    if (norm > 0) combination += weight / norm * *matrix;
    weight *= 0.6180339887;
  }
  combination += 4 * Matrix::Identity(d, d);  // positive definite: singular vectors are eigenvectors
  if (start.A.isApprox(start.A.transpose(), kDiagonal)) {
    const Matrix basis = singular_values(0.5 * (combination + combination.transpose())).right;
    const auto diagonal = [&](const Matrix* matrix) {
      Matrix rotated = basis.transpose() * *matrix * basis;
      rotated.diagonal().setZero();
      return rotated.norm() <= kDiagonal * static_cast<double>(d) * matrix->norm();
    };
    if (std::all_of(std::begin(all), std::end(all), diagonal)) return std::make_shared<DiagonalMap>(basis);
  }
  return identity_map(d * d + 1);
}

namespace {

// Where Σ has some variance, but little, A moves so slowly that a flow seems to be at its end long before it
// is. By the gradient G, and the curvature of linear attention's risk, along single entries of A in the axes
// of Σ; what an entry can make of the risk is bounded by what its part of <w, x_q> is worth.
double left_to_gain(const RegressionProblem& problem, double L, const InvariantPoint& at, const Matrix& G) {
  const SymmetricEigenvalues parts = symmetric_eigenvalues(problem.covariance);
  const Eigen::Index d = problem.dimension();
  const double largest = parts.values[d - 1];
  // The variances of a matrix that is not diagonal have rounding of this size.
  const double rounding =
      problem.covariance.isDiagonal(0) ? 0 : std::numeric_limits<double>::epsilon() * static_cast<double>(d);
  const Matrix axes = parts.vectors, slopes = axes.transpose() * G * axes, A = axes.transpose() * at.A * axes;
  const Vector tasks = (axes.transpose() * problem.prior_covariance * axes).diagonal();
  const Vector queries = (axes.transpose() * problem.query_covariance * axes).diagonal();
  const double label = (problem.covariance * problem.prior_covariance).trace() + problem.noise;
  double sum = 0;
  for (Eigen::Index i = 0; i < d; ++i) {
    if (!(parts.values[i] > rounding * largest)) continue;
    for (Eigen::Index j = 0; j < d; ++j) {
      const double slope = slopes(i, j), worth = 0.5 * tasks[i] * queries[j];
      if (slope == 0 || !(worth > 0)) continue;
      const double change = problem.score_scale * at.b * parts.values[i];  // of a prediction, by A_ij
      const double wrong = change * A(i, j) - (i == j ? 1 : 0), most = worth * (1 + wrong * wrong);
      const double curvature = change * change * queries[j] * (tasks[i] + label / (L * parts.values[i]));
      sum += slope * slope < 2 * most * curvature ? slope * slope / (2 * curvature) : most;
    }
  }
  return sum;
}

}  // namespace

RegressionFlow regression_flow(const RegressionProblem& problem, AttentionKind attention, double L,
                               const InvariantPoint& start, const FlowPlan& plan,
                               const Execution& execution) {
  RegressionFlow result;
  result.L = L;
  result.attention = attention;
  result.map = flow_parameters(problem, start);
  const Eigen::Index d = problem.dimension();
  FlowPlan given = plan;
  given.conserved.push_back(
      {"balance", [&](const Vector& values) { return to_point(result.map->map(values), d).balance(); }});
  const NaturalUnits units(problem);
  FlowPlan natural = units.to_natural(given);
  const auto risk = in_parameters(invariant_risk(units.problem(), attention, L), result.map);
  // Jacobians of hundreds of parameters cost more than they save.
  if (risk->size() > kMostDense) natural.method = FlowMethod::krylov;
  if (natural.risk_scale == 0) natural.risk_scale = units.problem().null_risk();
  // The maps are isometric: pulling back is the inverse on their range.
  const Vector first = to_vector(start) / units.parameters();
  FlowResult flow = gradient_flow(*risk, result.map->pull_back(first, first), natural, execution);
  if (std::isinf(plan.end)) {
    const Vector last = result.map->map(flow.trajectory.points().back().parameters);
    const Vector slope = invariant_risk(units.problem(), attention, L)->at(last).gradient;
    const double left = left_to_gain(units.problem(), L, to_point(last, d), slope.head(d * d).reshaped(d, d));
    result.unfinished = units.risk() * left;
    flow.flat = left > kLeftAtAnEnd * units.problem().null_risk();
    flow.stationary = !flow.flat;
    if (flow.flat) flow.to_go.reset();
  }
  result.flow = units.to_given(std::move(flow));
  result.last = to_point(result.map->map(result.flow.trajectory.points().back().parameters), d);
  return result;
}

FlowDistance flow_distance(const RegressionProblem& problem, const RegressionFlow& one,
                           const RegressionFlow& two, double horizon) {
  if (one.map == nullptr || two.map == nullptr) fail("flow_distance", "a flow has no map to (A, b)");
  const Eigen::Index d = problem.dimension();
  check_size("flow_distance", "parameters of the first flow", one.map->mapped_size(), d * d + 1);
  check_size("flow_distance", "parameters of the second flow", two.map->mapped_size(), d * d + 1);
  const Trajectory &first = one.flow.trajectory, &second = two.flow.trajectory;
  const auto first_risk = invariant_risk(problem, one.attention, one.L);
  const auto risk_one = in_parameters(first_risk, one.map);
  const auto risk_two = in_parameters(invariant_risk(problem, two.attention, two.L), two.map);
  FlowDistance distance;
  // Flows of different starts may have different maps: they meet in (A, b).
  distance.parameters = largest_distance(first, second, horizon, [&](const Vector& x, const Vector& y) {
    return (one.map->map(x) - two.map->map(y)).norm();
  });
  distance.risks = largest_distance(first, second, horizon, [&](const Vector& x, const Vector& y) {
    return std::abs(risk_one->at(x).value - risk_two->at(y).value);
  });
  distance.predictions = largest_distance(first, second, horizon, [&](const Vector& x, const Vector& y) {
    const InvariantPoint p = to_point(one.map->map(x), d), q = to_point(two.map->map(y), d);
    const Matrix map = problem.score_scale * problem.covariance * (p.b * p.A - q.b * q.A);
    const Matrix spread = map * problem.query_covariance * map.transpose();
    return std::sqrt(std::max((spread * problem.prior_covariance).trace(), 0.0));
  });
  const auto risk_one_there = in_parameters(first_risk, two.map);
  distance.gradients = largest_distance(second, second, horizon, [&](const Vector& y, const Vector&) {
    return (risk_one_there->at(y).gradient - risk_two->at(y).gradient).norm();
  });
  return distance;
}

}  // namespace largo
