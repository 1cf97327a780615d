// Square roots of covariance matrices, singular ones included.
#pragma once

#include <string_view>

#include "largo/numerics/matrix.hpp"

namespace largo {

struct CovarianceRoot {
  Matrix root;         ///< d x rank, root * rootᵀ = covariance
  double largest = 0;  ///< largest eigenvalue
};

/// A root of a symmetric positive semi-definite matrix, from its eigenvalues; directions of variance below
/// 1e-13 of the largest are dropped. Throws InputError, in the name of `function` and `argument`, when the
/// matrix is not square, not finite, not symmetric, or has an eigenvalue below -1e-10 of the largest one.
CovarianceRoot covariance_root(std::string_view function, std::string_view argument,
                               const ConstMatrixRef& covariance);

}  // namespace largo
