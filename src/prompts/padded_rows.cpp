#include "prompts/padded_rows.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "prompts/padded_rows.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd-inl.hpp"
#include "prompts/kernel-inl.hpp"

#ifndef LARGO_PADDED_ROWS_PRODUCT
#define LARGO_PADDED_ROWS_PRODUCT
namespace largo::prompts {
// y_ni = Σ_k x_nk A_ki, with x_nk at n x_row + k x_inner.
struct RowProduct {
  const double* x;
  std::size_t x_row, x_inner;
  std::size_t rows, inner;
  const RightFactor::Range* ranges;  // range of k for each kPadding columns; null: [0, inner)
  const double* A;
  std::size_t A_stride;
  double* y;
  std::size_t y_stride;
};
}  // namespace largo::prompts
#endif

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace four;
static_assert(PaddedRows::kPadding % (2 * kLanes) == 0);

// Keeps kRows rows and two vectors of columns from (row, column) on in registers. Twelve sums, in six rows,
// fill the registers; with fewer than eight, additions wait for one another.
template <std::size_t kRows>
HWY_INLINE void Tile(const RowProduct& p, std::size_t row, std::size_t column, RightFactor::Range range) {
  const D d;
  V sum[kRows][2];
  for (std::size_t n = 0; n < kRows; ++n) sum[n][0] = sum[n][1] = hn::Zero(d);
  const double* x = p.x + row * p.x_row + range.begin * p.x_inner;
  const double* A = p.A + range.begin * p.A_stride + column;
  for (std::size_t k = range.begin; k < range.end; ++k, x += p.x_inner, A += p.A_stride) {
    const V A0 = hn::Load(d, A);
    const V A1 = hn::Load(d, A + kLanes);
    for (std::size_t n = 0; n < kRows; ++n) {
      const V x_n = hn::Set(d, x[n * p.x_row]);
      sum[n][0] = FusedExact::MulAdd(x_n, A0, sum[n][0]);
      sum[n][1] = FusedExact::MulAdd(x_n, A1, sum[n][1]);
    }
  }
  double* const y = p.y + row * p.y_stride + column;
  for (std::size_t n = 0; n < kRows; ++n) {
    for (std::size_t j = 0; j < 2; ++j) hn::Store(sum[n][j], d, y + n * p.y_stride + j * kLanes);
  }
}

void Multiply(const RowProduct& p) {
  for (std::size_t column = 0; column < p.A_stride; column += 2 * kLanes) {
    const RightFactor::Range range =
        p.ranges == nullptr ? RightFactor::Range{0, p.inner} : p.ranges[column / PaddedRows::kPadding];
    std::size_t row = 0;
    for (; row + 8 < p.rows; row += 6) Tile<6>(p, row, column, range);
    for (; row + 4 <= p.rows; row += 4) Tile<4>(p, row, column, range);
    if (p.rows - row == 3) Tile<3>(p, row, column, range);
    if (p.rows - row == 2) Tile<2>(p, row, column, range);
    if (p.rows - row == 1) Tile<1>(p, row, column, range);
  }
}

void AddRows(const double* HWY_RESTRICT rows, std::size_t count, std::size_t width,
             double* HWY_RESTRICT sum) {
  const D d;
  for (std::size_t i = 0; i < width; i += 2 * kLanes) {
    V sum0 = hn::Load(d, sum + i), sum1 = hn::Load(d, sum + i + kLanes);
    for (std::size_t n = 0; n < count; ++n) {
      sum0 = hn::Add(sum0, hn::Load(d, rows + n * width + i));
      sum1 = hn::Add(sum1, hn::Load(d, rows + n * width + i + kLanes));
    }
    hn::Store(sum0, d, sum + i);
    hn::Store(sum1, d, sum + i + kLanes);
  }
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::prompts {
HWY_EXPORT(Multiply);
HWY_EXPORT(AddRows);

RightFactor::RightFactor(std::size_t rows, std::size_t columns, const double* values, std::size_t row_step,
                         std::size_t column_step, double scale)
    : values_(rows, columns), ranges_(values_.stride() / PaddedRows::kPadding, Range{rows, 0}) {
  for (std::size_t k = 0; k < rows; ++k) {
    double* const row = values_.row(k);
    for (std::size_t i = 0; i < columns; ++i) row[i] = scale * values[k * row_step + i * column_step];
    for (std::size_t part = 0; part < ranges_.size(); ++part) {
      const double* const first = row + part * PaddedRows::kPadding;
      if (std::all_of(first, first + PaddedRows::kPadding, [](double value) { return value == 0; })) continue;
      ranges_[part].begin = std::min(ranges_[part].begin, k);
      ranges_[part].end = k + 1;
    }
  }
}

RightFactor transposed(const Matrix& A, Eigen::Index columns, double scale) {
  return {size_of(columns), size_of(A.rows()), A.data(), size_of(A.rows()), 1, scale};
}

RightFactor as_it_is(const Matrix& A) {
  return {size_of(A.rows()), size_of(A.cols()), A.data(), 1, size_of(A.rows()), 1};
}

void multiply(const PaddedRows& x, std::size_t rows, const RightFactor& A, PaddedRows& y) {
  ensure_simd_level();
  const PaddedRows& values = A.values();
  for (std::size_t n = 0; n < rows; ++n) std::fill(y.row(n) + values.stride(), y.row(n) + y.stride(), 0.0);
  HWY_DYNAMIC_DISPATCH(Multiply)
  ({x.row(0), x.stride(), 1, rows, values.rows(), A.ranges(), values.row(0), values.stride(), y.row(0),
    y.stride()});
}

void transposed_product(const PaddedRows& x, std::size_t rows, const PaddedRows& A, std::size_t columns,
                        double* y) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(Multiply)
  ({x.row(0), 1, x.stride(), columns, rows, nullptr, A.row(0), A.stride(), y, A.stride()});
}

void add_rows(const double* rows, std::size_t count, PaddedRows& sum) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(AddRows)(rows, count, sum.stride(), sum.row(0));
}

}  // namespace largo::prompts
#endif  // HWY_ONCE
