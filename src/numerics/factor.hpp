// Factorisations, each compiled only once: those of Eigen cost ten seconds in every file that uses one.
#pragma once

#include <string_view>

#include "largo/runtime/matrix.hpp"

namespace largo::numerics {

struct CovarianceRoot {
  Matrix root;         ///< d x rank, root * rootᵀ = covariance
  double largest = 0;  ///< largest eigenvalue
};

/// A root of a symmetric positive semi-definite matrix, from its eigenvalues in units in which all variances
/// are of one order. Directions whose variance in these units is below 8dε of the largest are rounding
/// errors, and are dropped. Throws InputError, in the name of `function` and `argument`, when the matrix is
/// not square, finite and symmetric, or has an eigenvalue below -1e-10 of the largest.
CovarianceRoot covariance_root(std::string_view function, std::string_view argument,
                               const ConstMatrixRef& covariance);

/// A = vectors diag(values) vectorsᵀ, with ascending values.
struct SymmetricEigenvalues {
  Vector values;
  Matrix vectors;
};
/// Domain: finite, symmetric (the upper half is not read), at least 1 x 1.
SymmetricEigenvalues symmetric_eigenvalues(const ConstMatrixRef& matrix);

/// A = left diag(values) rightᵀ, with descending values; left is thin, right is square.
struct SingularValues {
  Matrix left;
  Vector values;
  Matrix right;
};
/// Domain: finite entries, at least one. One-sided Jacobi rotations: small values keep their digits.
SingularValues singular_values(const ConstMatrixRef& matrix);

/// The largest singular value; zero for a matrix without entries.
double operator_norm(const ConstMatrixRef& matrix);

/// For each column b of B, the x that minimises |Ax - b|; if there are several, the shortest.
Matrix least_squares(const ConstMatrixRef& A, const ConstMatrixRef& B);

}  // namespace largo::numerics
