// Products of blocks of prompts against Eigen, with the zeros of triangular and diagonal factors, at every
// SIMD level.
#include "prompts/padded_rows.hpp"

#include <gtest/gtest.h>

#include "largo/numerics/simd_level.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::padded_rows_test {
namespace {

// Sums have at most 60 terms, none beyond 20 in size, each rounded twice: 60 · 20 · 2 · 2^-53.
constexpr double kTolerance = 3e-13;

Matrix normals(std::size_t rows, std::size_t columns, std::uint64_t stream) {
  Matrix values(rows, columns);
  Stream(5, stream).normals(0, {values.data(), rows * columns});
  return values;
}

prompts::PaddedRows padded(const Matrix& values) {
  prompts::PaddedRows rows(static_cast<std::size_t>(values.rows()), static_cast<std::size_t>(values.cols()));
  for (Eigen::Index i = 0; i < values.rows(); ++i) {
    for (Eigen::Index j = 0; j < values.cols(); ++j) rows.row(static_cast<std::size_t>(i))[j] = values(i, j);
  }
  return rows;
}

void expect_near(const prompts::PaddedRows& got, const Matrix& expected) {
  for (Eigen::Index i = 0; i < expected.rows(); ++i) {
    for (Eigen::Index j = 0; j < expected.cols(); ++j) {
      ASSERT_NEAR(got.row(static_cast<std::size_t>(i))[j], expected(i, j), kTolerance);
    }
  }
}

TEST(PaddedRows, ProductsAreEigens) {
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    for (const std::size_t d : {1, 5, 8, 17, 50}) {
      for (const std::size_t rows : {1, 2, 3, 8, 15, 51}) {
        const Matrix x = normals(rows, d + 1, 1), dense = normals(d, d + 1, 2);
        const Matrix lower = dense.leftCols(static_cast<Eigen::Index>(d)).triangularView<Eigen::Lower>();
        const Matrix upper = lower.transpose(), diagonal = Matrix(lower.diagonal().asDiagonal());
        for (const Matrix& A : {dense, lower, upper, diagonal, Matrix(0 * dense)}) {
          const prompts::RightFactor factor(d, static_cast<std::size_t>(A.cols()), A.data(), 1, d, 0.5);
          prompts::PaddedRows y = padded(normals(rows, d + 9, 4));
          prompts::multiply(padded(x), rows, factor, y);
          expect_near(y, 0.5 * x.leftCols(static_cast<Eigen::Index>(d)) * A);
        }
        const Matrix z = normals(rows, d + 1, 3);
        prompts::PaddedRows product = padded(dense.transpose() * dense);  // to be overwritten
        prompts::transposed_product(padded(x), rows, padded(z), d + 1, product.row(0));
        expect_near(product, x.transpose() * z);
        prompts::PaddedRows sum = padded(x.topRows(1));
        prompts::add_rows(padded(x).row(0), rows, sum);
        expect_near(sum, x.topRows(1) + x.colwise().sum());
      }
    }
  }
  force_simd_level(simd_levels().front());
}

}  // namespace
}  // namespace largo::padded_rows_test
