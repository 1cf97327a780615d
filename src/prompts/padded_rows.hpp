// Small dense products for blocks of prompts, with one prompt per row.
//
// They are written out rather than left to Eigen, whose order of summation depends on the sizes of caches:
// here every sum runs in the order of its index, with fused operations, and has the same bits everywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "largo/runtime/matrix.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::prompts {

/// Converts one of Eigen's indices, which are signed, to a size.
inline std::size_t size_of(std::ptrdiff_t index) { return static_cast<std::size_t>(index); }

/// A matrix whose rows are padded with zeros to a multiple of kPadding, and aligned.
class PaddedRows {
 public:
  static constexpr std::size_t kPadding = 8;

  PaddedRows() = default;
  PaddedRows(std::size_t rows, std::size_t columns)
      : rows_(rows), stride_((columns + kPadding - 1) / kPadding * kPadding), values_(rows * stride_) {}

  std::size_t rows() const { return rows_; }
  std::size_t stride() const { return stride_; }  ///< number of columns with the padding
  double* row(std::size_t i) { return values_.data() + i * stride_; }
  const double* row(std::size_t i) const { return values_.data() + i * stride_; }

 private:
  std::size_t rows_ = 0, stride_ = 0;
  runtime::AlignedVector<double> values_;
};

/// A matrix to multiply by from the right. It knows where its columns begin and end, in groups of eight, so
/// that the zeros of triangular and diagonal roots cost nothing.
class RightFactor {
 public:
  /// The entry in row k and column i is scale times values[k row_step + i column_step].
  RightFactor(std::size_t rows, std::size_t columns, const double* values, std::size_t row_step,
              std::size_t column_step, double scale);

  struct Range {
    std::size_t begin = 0, end = 0;
  };
  const PaddedRows& values() const { return values_; }
  const Range* ranges() const { return ranges_.data(); }  ///< nonzero rows of each eight columns

 private:
  PaddedRows values_;
  std::vector<Range> ranges_;
};

/// Factors for products with rows: x Aᵀ applies A to each row, x A its transpose. Only the first `columns`
/// columns of A are applied.
RightFactor transposed(const Matrix& A, Eigen::Index columns, double scale = 1);
inline RightFactor transposed(const Matrix& A) { return transposed(A, A.cols()); }
RightFactor as_it_is(const Matrix& A);

/// y = x A for the first `rows` rows of x and as many of its columns as A has rows: y_ni = Σ_k x_nk A_ki, k
/// ascending. y is at least as wide as A, with zeros beyond it. Cost with AVX2: a cycle for eight products.
void multiply(const PaddedRows& x, std::size_t rows, const RightFactor& A, PaddedRows& y);

/// y = xᵀ A over the first `rows` rows of both, for the first `columns` columns of x: y_ji = Σ_n x_nj A_ni, n
/// ascending. y is aligned and has `columns` rows of A.stride() numbers.
void transposed_product(const PaddedRows& x, std::size_t rows, const PaddedRows& A, std::size_t columns,
                        double* y);

/// Adds `count` aligned rows of sum.stride() numbers to the first row of `sum`, one after the other.
void add_rows(const double* rows, std::size_t count, PaddedRows& sum);

}  // namespace largo::prompts
