// Small dense products for blocks of prompts, one prompt a row.
//
// Written out rather than left to Eigen, whose order of summation follows the sizes of the caches: here every
// sum runs in the order of its index, by fused operations, and has the same bits everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/aligned_vector.hpp"

namespace largo::prompts {

/// An index of Eigen's, which is signed, as a size.
inline std::size_t size_of(std::ptrdiff_t index) { return static_cast<std::size_t>(index); }

/// A matrix whose rows are padded with zeros to a multiple of kPadding, and aligned.
class PaddedRows {
 public:
  static constexpr std::size_t kPadding = 8;

  PaddedRows() = default;
  PaddedRows(std::size_t rows, std::size_t columns)
      : rows_(rows), stride_((columns + kPadding - 1) / kPadding * kPadding), values_(rows * stride_) {}

  std::size_t rows() const { return rows_; }
  std::size_t stride() const { return stride_; }  ///< columns with the padding
  double* row(std::size_t i) { return values_.data() + i * stride_; }
  const double* row(std::size_t i) const { return values_.data() + i * stride_; }

 private:
  std::size_t rows_ = 0, stride_ = 0;
  runtime::AlignedVector<double> values_;
};

/// A matrix to multiply by from the right. It knows where its columns begin and end, eight at a time, so that
/// the zeros of triangular and diagonal roots cost nothing.
class RightFactor {
 public:
  /// scale times the value at k row_step + i column_step, for row k and column i.
  RightFactor(std::size_t rows, std::size_t columns, const double* values, std::size_t row_step,
              std::size_t column_step, double scale);

  struct Range {
    std::size_t begin = 0, end = 0;
  };
  const PaddedRows& values() const { return values_; }
  const Range* ranges() const { return ranges_.data(); }  ///< of rows that are not zero in these columns

 private:
  PaddedRows values_;
  std::vector<Range> ranges_;
};

/// y = x A for the first `rows` rows of x and the first columns, as many as A has rows: y_ni = Σ_k x_nk A_ki,
/// k ascending. y is at least as wide as A; zeros beyond. Cost with AVX2: a cycle for eight products.
void multiply(const PaddedRows& x, std::size_t rows, const RightFactor& A, PaddedRows& y);

/// y = xᵀ A over the first `rows` rows of both: y_ji = Σ_n x_nj A_ni, n ascending, for the first `columns` of
/// x. y has as many rows of A.stride() numbers, aligned.
void transposed_product(const PaddedRows& x, std::size_t rows, const PaddedRows& A, std::size_t columns,
                        double* y);

/// Adds `count` rows of sum.stride() numbers, aligned, to the first row of `sum`, one after the other.
void add_rows(const double* rows, std::size_t count, PaddedRows& sum);

}  // namespace largo::prompts
