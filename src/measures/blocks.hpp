// Joins the vectors and matrices of independent parts.
#pragma once

#include "largo/runtime/matrix.hpp"

namespace largo::measures {

inline Vector stack(const ConstVectorRef& top, const ConstVectorRef& bottom) {
  Vector both(top.size() + bottom.size());
  both << top, bottom;
  return both;
}

inline Matrix block_diagonal(const ConstMatrixRef& first, const ConstMatrixRef& second) {
  Matrix both = Matrix::Zero(first.rows() + second.rows(), first.cols() + second.cols());
  both.topLeftCorner(first.rows(), first.cols()) = first;
  both.bottomRightCorner(second.rows(), second.cols()) = second;
  return both;
}

}  // namespace largo::measures
