// The pass over a prompt against a plain loop, at every SIMD level, remainder, memory layout and arithmetic.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/measures/empirical.hpp"
#include "largo/numerics/simd_level.hpp"
#include "support/random_matrices.hpp"

namespace largo::tilt_kernel_test {
namespace {

// Relative to the spread, for scores up to about 10: scores and weights are rounded to 24 bits.
constexpr double kFloat32 = 4e-6;
constexpr double kFloat64 = 1e-13;  // the rounding of scores up to about 10
// Tokens are 1000 away from the origin: second moments about it would lose a factor of 1e6 in accuracy.
constexpr double kOffsetFloat32 = 1e-3;
constexpr double kOffsetFloat64 = 1e-10;

class LevelGuard {
 public:
  LevelGuard() : level_(simd_level()) {}
  ~LevelGuard() { force_simd_level(level_); }
  LevelGuard(const LevelGuard&) = delete;
  LevelGuard& operator=(const LevelGuard&) = delete;

 private:
  std::string level_;
};

constexpr test::RandomMatrices normals(5);

// The tokens are representable in float32, so that both types of memory hold the same tokens.
RowMatrix some_tokens(std::int64_t length, std::int64_t d, std::uint64_t stream) {
  return normals(length, d, stream).cast<float>().cast<double>();
}

// The terms of each score add up to at most 10 in absolute value.
Matrix some_directions(const RowMatrix& tokens, std::int64_t count, std::uint64_t stream) {
  Matrix directions = normals(tokens.cols(), count, stream);
  for (auto direction : directions.colwise()) {
    direction *= 10 / (tokens.cwiseAbs() * direction.cwiseAbs()).maxCoeff();
  }
  return directions.cast<float>().cast<double>();
}

/// Tilts by definition: scores, their maximum, weights, weighted mean, and weighted covariance about it.
std::vector<Tilt> naive_tilts(const RowMatrix& tokens, const Vector& weights, const Matrix& directions) {
  std::vector<Tilt> tilts;
  for (std::ptrdiff_t q = 0; q < directions.cols(); ++q) {
    const Vector scores = tokens * directions.col(q);
    const double largest = scores.maxCoeff();
    const Vector terms = weights.array() * (scores.array() - largest).exp();
    Tilt tilt;
    tilt.log_partition = largest + std::log(terms.sum() / weights.sum());
    tilt.mean = tokens.transpose() * terms / terms.sum();
    const RowMatrix centred = tokens.rowwise() - tilt.mean.transpose();
    tilt.covariance = centred.transpose() * terms.asDiagonal() * centred / terms.sum();
    tilts.push_back(tilt);
  }
  return tilts;
}

/// The largest error over all tilts and their products with `vectors`, relative to the largest |token|.
double worst_error(const EmpiricalMeasure& prompt, const std::vector<Tilt>& expected,
                   const Matrix& directions, const Matrix& vectors) {
  const std::vector<Tilt> tilts = prompt.tilts(directions, TiltOrder::covariance);
  const std::vector<Tilt> means = prompt.tilts(directions, TiltOrder::mean);
  const Matrix products = prompt.tilted_covariance_products(directions, vectors);
  double spread = 0;
  for (std::int64_t l = 0; l < prompt.length(); ++l) {
    for (std::int64_t j = 0; j < prompt.dimension(); ++j)
      spread = std::max(spread, std::abs(prompt.tokens()(l, j)));
  }
  double worst = 0;
  for (std::size_t q = 0; q < expected.size(); ++q) {
    const auto column = static_cast<std::ptrdiff_t>(q);
    const Vector product = expected[q].covariance * vectors.col(column);
    worst =
        std::max({worst, std::abs(tilts[q].log_partition - expected[q].log_partition),
                  (tilts[q].mean - expected[q].mean).cwiseAbs().maxCoeff() / spread,
                  (means[q].mean - expected[q].mean).cwiseAbs().maxCoeff() / spread,
                  (tilts[q].covariance - expected[q].covariance).cwiseAbs().maxCoeff() / (spread * spread),
                  (products.col(column) - product).cwiseAbs().maxCoeff() /
                      (spread * spread * vectors.col(column).norm())});
  }
  return worst;
}

struct Shape {
  std::int64_t length;
  std::int64_t dimension;
  std::int64_t directions;
};

// Lengths, dimensions and numbers of directions lie around the sizes of vectors, blocks and segments.
std::vector<Shape> shapes() {
  std::vector<std::int64_t> lengths = {127, 128, 129, 255, 256, 257, 511, 513, 8191, 8192, 8193};
  for (std::int64_t length = 1; length <= 20; ++length) lengths.push_back(length);
  std::vector<Shape> all;
  for (std::int64_t k = 0; const std::int64_t length : lengths) {
    for (int repeat = 0; repeat < (length > 1000 ? 1 : 4); ++repeat, ++k) {
      all.push_back({length, 1 + (5 * k) % 13, 1 + (11 * k) % 35});
    }
  }
  for (std::int64_t d = 1; d <= 13; ++d) {
    for (const std::int64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65}) {
      all.push_back({37, d, count});
    }
  }
  return all;
}

TEST(TiltKernel, EveryLevelAndRemainder) {
  const LevelGuard guard;
  double worst32 = 0;
  double worst64 = 0;
  for (std::uint64_t stream = 1; const Shape& shape : shapes()) {
    const RowMatrix tokens = some_tokens(shape.length, shape.dimension, ++stream);
    const Matrix directions = some_directions(tokens, shape.directions, stream + 1000);
    const Matrix vectors = normals(shape.dimension, shape.directions, stream + 2000);
    const Vector weights = normals(shape.length, 1, stream + 3000).cwiseAbs();
    const auto plain = naive_tilts(tokens, Vector::Ones(shape.length), directions);
    const auto weighted = naive_tilts(tokens, weights, directions);
    for (const std::string& level : simd_levels()) {
      force_simd_level(level);
      const auto name = ::testing::Message() << level << ", L " << shape.length << ", d " << shape.dimension
                                             << ", directions " << shape.directions;
      const auto error = [&](Arithmetic arithmetic) {
        return std::max(
            worst_error(EmpiricalMeasure(tokens, std::nullopt, arithmetic), plain, directions, vectors),
            worst_error(EmpiricalMeasure(tokens, weights, arithmetic), weighted, directions, vectors));
      };
      const double error32 = error(Arithmetic::float32);
      const double error64 = error(Arithmetic::float64);
      EXPECT_LE(error32, kFloat32) << name;
      EXPECT_LE(error64, kFloat64) << name;
      worst32 = std::max(worst32, error32);
      worst64 = std::max(worst64, error64);
    }
  }
  std::printf("  max error %.1e in float32, %.1e in float64, of the spread\n", worst32, worst64);
}

/// The same tokens in memory of type T: element (i, j) at offset + i row_stride + j column_stride.
template <typename T>
struct Laid {
  std::vector<T> memory;
  ArrayView view;

  Laid(const RowMatrix& tokens, std::int64_t offset, std::int64_t row_stride, std::int64_t column_stride)
      : memory(static_cast<std::size_t>(offset + (tokens.rows() - 1) * row_stride +
                                        (tokens.cols() - 1) * column_stride + 1),
               std::numeric_limits<T>::quiet_NaN()) {  // memory between tokens must not get into a sum
    for (std::ptrdiff_t i = 0; i < tokens.rows(); ++i) {
      for (std::ptrdiff_t j = 0; j < tokens.cols(); ++j) {
        memory[static_cast<std::size_t>(offset + i * row_stride + j * column_stride)] =
            static_cast<T>(tokens(i, j));
      }
    }
    constexpr auto kScalar = sizeof(T) == 4 ? Scalar::float32 : Scalar::float64;
    view = {memory.data() + offset, kScalar, tokens.rows(), tokens.cols(), row_stride, column_stride};
  }
};

void expect_same_bits(const EmpiricalMeasure& prompt, const EmpiricalMeasure& expected,
                      const Matrix& directions) {
  const auto tilts = prompt.tilts(directions, TiltOrder::covariance);
  const auto expected_tilts = expected.tilts(directions, TiltOrder::covariance);
  for (std::size_t q = 0; q < tilts.size(); ++q) {
    EXPECT_EQ(tilts[q].log_partition, expected_tilts[q].log_partition);
    EXPECT_EQ(tilts[q].mean, expected_tilts[q].mean);
    EXPECT_EQ(tilts[q].covariance, expected_tilts[q].covariance);
  }
  EXPECT_EQ(prompt.tilted_covariance_products(directions, directions),
            expected.tilted_covariance_products(directions, directions));
  EXPECT_EQ(prompt.softmax_weights(directions.col(0)), expected.softmax_weights(directions.col(0)));
}

TEST(TiltKernel, MemoryLayoutAndTypeDoNotMatter) {
  const LevelGuard guard;
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    for (const Shape& shape :
         {Shape{1, 1, 1}, {2, 3, 4}, {19, 5, 9}, {300, 7, 3}, {8200, 2, 17}, {515, 16, 5}}) {
      const std::int64_t d = shape.dimension;
      const RowMatrix tokens = some_tokens(shape.length, d, 77);
      const Matrix directions = some_directions(tokens, shape.directions, 78);
      const std::int64_t strides[][3] = {
          {0, d, 1}, {1, d, 1}, {1, d + 3, 1}, {0, 1, shape.length}, {1, 1, shape.length + 5}, {0, 2 * d, 2}};
      for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float64}) {
        const EmpiricalMeasure expected(tokens, std::nullopt, arithmetic);
        for (const auto& [offset, row, column] : strides) {
          SCOPED_TRACE(::testing::Message() << level << ", offset " << offset << ", strides " << row << ", "
                                            << column << ", L " << shape.length << ", d " << d);
          const Laid<float> narrow(tokens, offset, row, column);
          const Laid<double> wide(tokens, offset, row, column);
          expect_same_bits(EmpiricalMeasure(narrow.view, nullptr, std::nullopt, arithmetic), expected,
                           directions);
          expect_same_bits(EmpiricalMeasure(wide.view, nullptr, std::nullopt, arithmetic), expected,
                           directions);
        }
      }
    }
  }
}

TEST(TiltKernel, ArithmeticIsThatOfTheTokensUnlessAskedOtherwise) {
  const RowMatrix tokens = some_tokens(500, 3, 5);
  const Matrix directions = some_directions(tokens, 2, 6);
  const Laid<float> narrow(tokens, 0, 3, 1);
  expect_same_bits(EmpiricalMeasure(narrow.view), EmpiricalMeasure(tokens, std::nullopt, Arithmetic::float32),
                   directions);
  expect_same_bits(EmpiricalMeasure(tokens), EmpiricalMeasure(tokens, std::nullopt, Arithmetic::float64),
                   directions);
}

TEST(TiltKernel, CovarianceFarFromTheOrigin) {
  const LevelGuard guard;
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    const RowMatrix centred = some_tokens(20000, 4, 9);
    const RowMatrix tokens = (centred.array() + 1000.0).cast<float>().cast<double>();
    const Matrix directions = 0.25 * some_directions(centred, 3, 10);
    const auto expected = naive_tilts(tokens, Vector::Ones(tokens.rows()), directions);
    for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float64}) {
      const double tolerance = arithmetic == Arithmetic::float32 ? kOffsetFloat32 : kOffsetFloat64;
      const EmpiricalMeasure prompt(tokens, std::nullopt, arithmetic);
      const auto tilts = prompt.tilts(directions, TiltOrder::covariance);
      const Matrix products = prompt.tilted_covariance_products(directions, directions);
      for (std::size_t q = 0; q < tilts.size(); ++q) {
        const Matrix& covariance = expected[q].covariance;
        const Vector direction = directions.col(static_cast<std::ptrdiff_t>(q));
        const Vector gap = products.col(static_cast<std::ptrdiff_t>(q)) - covariance * direction;
        EXPECT_LE((tilts[q].covariance - covariance).cwiseAbs().maxCoeff(), tolerance) << level;
        EXPECT_LE(gap.cwiseAbs().maxCoeff(), tolerance * direction.norm()) << level;
      }
    }
  }
}

TEST(TiltKernel, SameBitsAtEveryLevel) {
  const LevelGuard guard;
  const RowMatrix tokens = some_tokens(20000, 5, 21);  // three segments
  const Matrix directions = some_directions(tokens, 19, 22);
  const Matrix vectors = normals(5, 19, 23);
  for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float64}) {
    const EmpiricalMeasure prompt(tokens, std::nullopt, arithmetic);
    force_simd_level(simd_levels().front());
    const auto expected = prompt.tilts(directions, TiltOrder::covariance);
    const Matrix products = prompt.tilted_covariance_products(directions, vectors);
    for (const std::string& level : simd_levels()) {
      force_simd_level(level);
      const auto tilts = prompt.tilts(directions, TiltOrder::covariance);
      for (std::size_t q = 0; q < tilts.size(); ++q) {
        EXPECT_EQ(tilts[q].log_partition, expected[q].log_partition) << level;
        EXPECT_EQ(tilts[q].mean, expected[q].mean) << level;
        EXPECT_EQ(tilts[q].covariance, expected[q].covariance) << level;
      }
      EXPECT_EQ(prompt.tilted_covariance_products(directions, vectors), products) << level;
    }
  }
}

TEST(TiltKernel, TokensOfWeightZeroMightAsWellBeAbsent) {
  // More of them than a block or a segment holds lie at the start, at the end and in between.
  const LevelGuard guard;
  constexpr std::ptrdiff_t kLength = 30000;
  const RowMatrix tokens = some_tokens(kLength, 3, 11);
  const Matrix directions = some_directions(tokens, 5, 12);
  const std::ptrdiff_t kept[][2] = {{300, 400}, {9000, 9700}, {0, 100}, {29900, 100}, {16384, 8192}};
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    for (const auto& [first, count] : kept) {
      Vector weights = Vector::Zero(kLength);
      weights.segment(first, count).setOnes();
      const auto expected = naive_tilts(tokens.middleRows(first, count), Vector::Ones(count), directions);
      for (const Arithmetic arithmetic : {Arithmetic::float32, Arithmetic::float64}) {
        const double tolerance = arithmetic == Arithmetic::float32 ? kFloat32 : kFloat64;
        const EmpiricalMeasure prompt(tokens, weights, arithmetic);
        EXPECT_LE(worst_error(prompt, expected, directions, directions), tolerance) << level << ", " << first;
      }
    }
  }
}

TEST(TiltKernel, StopsWithinAPass) {
  const std::atomic<bool> stop = true;
  const Matrix directions = normals(3, 200, 13);
  for (const std::ptrdiff_t length : {100, 50000}) {  // threads share the directions, or the tokens
    const EmpiricalMeasure prompt(some_tokens(length, 3, 14));
    for (const int threads : {1, 2}) {
      const Execution execution{.threads = threads, .stop = &stop};
      EXPECT_THROW(prompt.tilts(directions, TiltOrder::mean, execution), Stopped);
      EXPECT_THROW(prompt.tilted_covariance_products(directions, directions, execution), Stopped);
    }
  }
}

}  // namespace
}  // namespace largo::tilt_kernel_test
