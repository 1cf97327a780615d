#include "claims/trained_regression.hpp"

#include <cmath>

namespace largo::claims {

RegressionProblem round_problem() {
  return paper_problem(Matrix::Identity(kUsualDimension, kUsualDimension));
}

RegressionProblem diagonal_problem(const Vector& variances, double noise_variance) {
  RegressionProblem problem = paper_problem(Matrix(variances.asDiagonal()));
  problem.noise_variance = noise_variance;
  return problem;
}

InvariantPoint usual_start(const RegressionProblem& problem) {
  return paper_start(problem, 0.5 * largest_admissible_alpha(problem));
}

Vector parameters_of(const InvariantPoint& point) {
  Vector parameters(point.A.size() + 1);
  parameters << point.A.reshaped(), point.b;
  return parameters;
}

double trained_constant(const RegressionProblem& problem) {
  const auto d = static_cast<double>(problem.dimension());
  const double T = problem.covariance.trace(), noise = problem.noise_variance / T, m = d / 2 + 1;
  // The slope in t vanishes where 2m (1 + 2r) t² - (2m + 2)(1 + r) t + 1 + r = 0, r = τ²/T; the smaller root
  // is the one below ½.
  const double square = 2 * m * (1 + 2 * noise), linear = (2 * m + 2) * (1 + noise);
  const double t = 2 * (1 + noise) / (linear + std::sqrt(linear * linear - 4 * square * (1 + noise)));
  return 0.5 * T * std::pow(1 - 2 * t, -m) * (1 + (1 + noise) * (1 - 2 * t) / t);
}

double trained_linear_constant(const RegressionProblem& problem) {
  const double T = problem.covariance.trace();
  return 0.5 * (T + (T + problem.noise_variance) * static_cast<double>(problem.dimension()));
}

}  // namespace largo::claims
