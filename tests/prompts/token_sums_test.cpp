// Softmax-weighted sums over chunks of tokens, against the formulas in float64, at every SIMD level.
#include "prompts/token_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "support/every_simd_level.hpp"

namespace largo::prompts {
namespace {

constexpr std::size_t kChunks = 2;  // the second one moves the top
constexpr std::size_t kCounts[] = {1, 7, 8, 9, 17, 32, 33, 50, 96, 100, 200, 255, 256};
constexpr std::size_t kDimensions[] = {0, 1, 2, 3, 5, 6, 7, 8, 9, 19};
constexpr SumOrder kOrders[] = {SumOrder::mean, SumOrder::gradient, SumOrder::covariance};

// Two chunks of tokens, with numbers that must not count beyond the next multiple of eight.
template <typename T>
struct Prompt {
  Prompt(std::size_t size, std::size_t tokens)
      : dimension(size), count(tokens), direction(as_index(size)), values(as_index(size)) {
    std::mt19937_64 bits(1000 * size + tokens);
    std::normal_distribution<double> normal;
    for (std::size_t c = 0; c < kChunks; ++c) {
      chunks[c].assign(std::max<std::size_t>(size, 1) * kChunkTokens, std::numeric_limits<T>::quiet_NaN());
      for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t i = 0; i < (tokens + 7) / 8 * 8; ++i)
          chunks[c][j * kChunkTokens + i] = static_cast<T>((1.0 + static_cast<double>(c)) * normal(bits));
      }
    }
    for (Eigen::Index j = 0; j < direction.size(); ++j) {
      direction[j] = 0.7 * normal(bits);
      values[j] = normal(bits);
    }
  }
  static Eigen::Index as_index(std::size_t size) { return static_cast<Eigen::Index>(size); }

  Vector token(std::size_t chunk, std::size_t i) const {
    Vector x(direction.size());
    for (std::size_t j = 0; j < dimension; ++j)
      x[as_index(j)] = static_cast<double>(chunks[chunk][j * kChunkTokens + i]);
    return x;
  }
  TokenSums<T> sums(SumOrder order) const {
    TokenSums<T> result(dimension, order);
    result.begin(direction, values);
    for (const auto& chunk : chunks) result.add(chunk.data(), count);
    return result;
  }

  std::size_t dimension, count;
  Vector direction, values;
  runtime::AlignedVector<T> chunks[kChunks];
};

// Everything that the sums of this order say, in one vector.
template <typename Sums>
Vector all_of(const Sums& sums, SumOrder order, Eigen::Index dimension) {
  Vector all = Vector::Zero(2 + 2 * dimension + dimension * dimension);
  all[0] = sums.weight();
  all[1] = order == SumOrder::gradient ? sums.value() : sums.squared_weight();
  all.segment(2, dimension) = sums.mean();
  if (order == SumOrder::gradient) all.segment(2 + dimension, dimension) = sums.gradient();
  if (order == SumOrder::covariance) all.tail(dimension * dimension) = sums.second_moment().reshaped();
  return all;
}

// The same by their definitions, and the sums of the sizes of their terms.
template <typename T>
std::pair<Vector, Vector> by_definition(const Prompt<T>& prompt, SumOrder order, std::int64_t top) {
  const Eigen::Index d = prompt.direction.size();
  Vector all = Vector::Zero(2 + 2 * d + d * d), sizes = all;
  for (std::size_t c = 0; c < kChunks; ++c) {
    for (std::size_t i = 0; i < prompt.count; ++i) {
      const Vector x = prompt.token(c, i);
      const double w = std::exp(prompt.direction.dot(x) - static_cast<double>(top) * std::log(2.0));
      const double v = prompt.values.dot(x);
      Vector term = Vector::Zero(all.size());
      term[0] = w;
      term[1] = order == SumOrder::gradient ? w * v : w * w;
      term.segment(2, d) = w * x;
      if (order == SumOrder::gradient) term.segment(2 + d, d) = w * v * x;
      if (order == SumOrder::covariance) term.tail(d * d) = (w * x * x.transpose()).reshaped();
      all += term;
      sizes += term.cwiseAbs();
      if (order == SumOrder::gradient) {  // v is itself a sum that may cancel
        const double size = prompt.values.cwiseAbs().dot(x.cwiseAbs());
        sizes[1] += w * size;
        sizes.segment(2 + d, d) += w * size * x.cwiseAbs();
      }
    }
  }
  return {all, sizes};
}

class TokenSumsLevels : public test::EverySimdLevel {
 protected:
  // A score has an error of some roundings of its terms, which add up to less than 100 here.
  template <typename T>
  void check() {
    constexpr double kTolerance = 100 * std::numeric_limits<T>::epsilon();
    for (const SumOrder order : kOrders) {
      for (const std::size_t dimension : kDimensions) {
        for (const std::size_t count : kCounts) {
          const Prompt<T> prompt(dimension, count);
          const Eigen::Index d = Prompt<T>::as_index(dimension);
          const TokenSums<T> sums = prompt.sums(order);
          const Vector got = all_of(sums, order, d);
          const auto [expected, sizes] = by_definition(prompt, order, sums.top());
          for (Eigen::Index k = 0; k < got.size(); ++k)
            ASSERT_NEAR(got[k], expected[k], kTolerance * sizes[k]) << k << ' ' << dimension << ' ' << count;
          force_simd_level(simd_levels().front());
          const Vector best = all_of(prompt.sums(order), order, d);
          force_simd_level(GetParam());
          ASSERT_EQ(got, best) << dimension << ' ' << count;
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(EveryLevel, TokenSumsLevels, ::testing::ValuesIn(simd_levels()), test::level_name);

TEST_P(TokenSumsLevels, FloatsAreTheFormulas) { check<float>(); }
TEST_P(TokenSumsLevels, DoublesAreTheFormulas) { check<double>(); }

}  // namespace
}  // namespace largo::prompts
