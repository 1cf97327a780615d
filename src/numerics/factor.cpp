#include "largo/numerics/factor.hpp"

#include <cmath>

#include <fmt/format.h>

#include "largo/numerics/check.hpp"

namespace largo {
namespace {

// Rounding leaves eigenvalues of a singular covariance at about ±1e-16 of the largest; a matrix computed
// from data in single precision may be further off. Both constants are documented in factor.hpp.
constexpr double kIndefinite = -1e-10;
constexpr double kNegligible = 1e-13;

}  // namespace

CovarianceRoot covariance_root(std::string_view function, std::string_view argument,
                               const ConstMatrixRef& covariance) {
  check_symmetric(function, argument, covariance);
  if (covariance.rows() == 0) fail(function, argument, "empty", "at least 1 x 1");
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(covariance);
  const Vector& eigenvalues = solver.eigenvalues();  // ascending
  const double largest = eigenvalues.cwiseAbs().maxCoeff();
  if (eigenvalues[0] < kIndefinite * largest) {
    fail(function, fmt::format("smallest eigenvalue of {}", argument), eigenvalues[0],
         "non-negative (a covariance is positive semi-definite)");
  }
  const auto rank = (eigenvalues.array() > kNegligible * largest).count();
  const Vector scales = eigenvalues.tail(rank).cwiseSqrt();
  return {solver.eigenvectors().rightCols(rank) * scales.asDiagonal(), largest};
}

SymmetricEigenvalues symmetric_eigenvalues(const ConstMatrixRef& matrix) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(matrix);
  return {solver.eigenvalues(), solver.eigenvectors()};
}

SingularValues singular_values(const ConstMatrixRef& matrix) {
  const Eigen::JacobiSVD<Matrix> svd(matrix, Eigen::ComputeThinU | Eigen::ComputeFullV);
  return {svd.matrixU(), svd.singularValues(), svd.matrixV()};
}

double operator_norm(const ConstMatrixRef& matrix) {
  return matrix.size() > 0 ? singular_values(matrix).values[0] : 0;
}

Matrix least_squares(const ConstMatrixRef& A, const ConstMatrixRef& B) {
  const auto decomposition = Matrix(A).completeOrthogonalDecomposition();
  Matrix x(A.cols(), B.cols());
  // One by one: what a column gives must not depend on how many there are, to the bit.
  for (Eigen::Index j = 0; j < B.cols(); ++j) x.col(j) = decomposition.solve(Vector(B.col(j)));
  return x;
}

}  // namespace largo
