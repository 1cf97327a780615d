#include "numerics/factor.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::numerics {
namespace {

// The least eigenvalue, relative to the largest: a matrix computed from data in single precision may have
// eigenvalues this far below zero.
constexpr double kIndefinite = -1e-10;
// Rounding of the entries leaves eigenvalues of a singular covariance at about d ε of the largest.
constexpr double kRounding = 8 * std::numeric_limits<double>::epsilon();
// The units of coordinates differ by powers of 2^kUnitStep: coordinates of about the same size share a unit.
constexpr int kUnitStep = 10;

// Powers of two, one per coordinate, that bring all variances to the order of the largest, so that a variance
// that is small only because of its unit keeps its digits. Scaling by them is exact, and all are one for
// variances within 2^10 of the largest. A unit is also one if its variance is smaller than its covariances
// allow and these are rounding errors: the variance should then be zero.
Vector coordinate_units(const ConstMatrixRef& covariance) {
  const Eigen::Index d = covariance.rows();
  const double largest = covariance.diagonal().maxCoeff();
  Vector units = Vector::Ones(d);
  for (Eigen::Index i = 0; i < d; ++i) {
    const double variance = covariance(i, i);
    if (!(variance > 0)) continue;
    const double steps = std::round((std::log2(variance) - std::log2(largest)) / (2 * kUnitStep));
    if (steps == 0) continue;
    const auto is_left_over = [&](Eigen::Index j) {
      const double size = std::abs(covariance(i, j));
      return size > 2 * std::sqrt(variance) * std::sqrt(covariance(j, j)) &&
             size <= kRounding * static_cast<double>(d) * largest;
    };
    bool left_over = false;
    for (Eigen::Index j = 0; j < d; ++j) left_over = left_over || is_left_over(j);
    if (!left_over) units[i] = std::scalbn(1.0, kUnitStep * static_cast<int>(steps));
  }
  return units;
}

}  // namespace

CovarianceRoot covariance_root(std::string_view function, std::string_view argument,
                               const ConstMatrixRef& covariance) {
  check_symmetric(function, argument, covariance);
  if (covariance.rows() == 0) fail(function, argument, "empty", "at least 1 x 1");
  const Vector units = coordinate_units(covariance), inverse = units.cwiseInverse();
  const Matrix scaled = inverse.asDiagonal() * covariance * inverse.asDiagonal();
  if (!scaled.allFinite()) fail(function, argument, "indefinite", "positive semi-definite");
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(scaled);
  const Vector& eigenvalues = solver.eigenvalues();  // ascending
  double largest = eigenvalues.cwiseAbs().maxCoeff();
  if (eigenvalues[0] < kIndefinite * largest) {
    fail(function, fmt::format("smallest eigenvalue of {}", argument), eigenvalues[0],
         "non-negative (a covariance is positive semi-definite)");
  }
  const double negligible = kRounding * static_cast<double>(covariance.rows());
  const auto rank = (eigenvalues.array() > negligible * largest).count();
  const Vector scales = eigenvalues.tail(rank).cwiseSqrt();
  Matrix root = units.asDiagonal() * solver.eigenvectors().rightCols(rank) * scales.asDiagonal();
  if (units != Vector::Ones(units.size())) largest = std::pow(operator_norm(root), 2);
  return {std::move(root), largest};
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
  // One column at a time: the bits of its solution must not depend on the number of columns.
  for (Eigen::Index j = 0; j < B.cols(); ++j) x.col(j) = decomposition.solve(Vector(B.col(j)));
  return x;
}

}  // namespace largo::numerics
