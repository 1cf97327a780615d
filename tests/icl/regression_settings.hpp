// Problems and parameters of in-context regression that tests share.
#pragma once

#include <cmath>

#include "icl/prompt_tasks.hpp"
#include "largo/icl/regression_problem.hpp"

namespace largo::test {

/// No covariance is a multiple of the identity, and noise and scale are not the usual ones.
inline RegressionProblem random_problem(std::uint64_t id, Eigen::Index d) {
  return {random_covariance(1000 + 10 * id, d), random_covariance(1001 + 10 * id, d),
          random_covariance(1002 + 10 * id, d), 0.1 * static_cast<double>(id % 4),
          0.6 + 0.2 * static_cast<double>(id % 3)};
}

/// U and v are such that scores have a spread of about one half to one.
inline RegressionParameters random_parameters(std::uint64_t id, Eigen::Index d) {
  const double size = 0.6 / std::sqrt(static_cast<double>(d + 1));
  return {size * random_matrix(1003 + 10 * id, d + 1, d + 1), size * random_matrix(1004 + 10 * id, d + 1, 1)};
}

/// (A, b) near the diagonal, in the layout of invariant_map().
inline Vector random_invariant(std::uint64_t id, Eigen::Index d) {
  Vector values(d * d + 1);
  const Matrix A = 0.5 * Matrix::Identity(d, d) +
                   0.3 / std::sqrt(static_cast<double>(d)) * random_matrix(1005 + 10 * id, d, d);
  values << A.reshaped(), 0.8;
  return values;
}

inline RegressionProblem round_problem(Eigen::Index d, double noise = 0) {
  RegressionProblem problem = paper_problem(Matrix::Identity(d, d));
  problem.noise_variance = noise;
  return problem;
}

/// (aI, b) in the layout of invariant_map().
inline Vector round_point(Eigen::Index d, double a, double b) {
  Vector values(d * d + 1);
  values << Matrix(a * Matrix::Identity(d, d)).reshaped(), b;
  return values;
}

}  // namespace largo::test
