// A read-only, strided, two-dimensional view of float32 or float64 numbers that live elsewhere: a mapped
// file, an Eigen matrix, a NumPy array. Rows are tokens, columns are coordinates.
#pragma once

#include <cassert>
#include <cstdint>

#include "largo/runtime/matrix.hpp"

namespace largo {

enum class Scalar : std::uint8_t { float32, float64 };

constexpr std::int64_t size_of(Scalar scalar) { return scalar == Scalar::float32 ? 4 : 8; }

struct ArrayView {
  const void* data = nullptr;  ///< aligned for the scalar
  Scalar scalar = Scalar::float64;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;     ///< in elements
  std::int64_t column_stride = 1;  ///< in elements

  double operator()(std::int64_t i, std::int64_t j) const {
    assert(i >= 0 && i < rows && j >= 0 && j < columns);
    const std::int64_t at = i * row_stride + j * column_stride;
    return scalar == Scalar::float32 ? static_cast<double>(static_cast<const float*>(data)[at])
                                     : static_cast<const double*>(data)[at];
  }
};

/// A view of a matrix. The matrix must outlive the view, so temporaries are refused, and so are matrices in
/// another order, which Eigen would copy.
inline ArrayView view_of(const RowMatrix& rows) {
  return {rows.data(), Scalar::float64, rows.rows(), rows.cols(), rows.outerStride(), 1};
}
ArrayView view_of(RowMatrix&&) = delete;
template <typename Other>
ArrayView view_of(const Other&) = delete;

}  // namespace largo
