// Results have the same bits for every number of threads and every chunk size.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "support/random_matrices.hpp"

namespace largo::same_bits_test {
namespace {

constexpr std::int64_t kLength = 32771;  // five segments, the last one short
constexpr std::int64_t kDimension = 5;
constexpr std::int64_t kDirections = 19;

std::vector<Execution> executions() {
  std::vector<Execution> all;
  for (const int threads : {1, 2, 3, 7, 0}) {
    for (const std::int64_t chunk : {0, 1, 1000, 8192, 20000, 100000, 10000000})
      all.push_back({threads, chunk});
  }
  return all;
}

constexpr test::RandomMatrices normals(3);

template <typename Values>
bool same_bits(const Values& x, const Values& y) {
  if (x.size() != y.size()) return false;
  if (x.size() == 0) return true;  // memcmp takes no null pointers, whatever the size
  return std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * sizeof(double)) == 0;
}

bool same_bits(const Tilt& x, const Tilt& y) {
  return std::memcmp(&x.log_partition, &y.log_partition, sizeof(double)) == 0 && same_bits(x.mean, y.mean) &&
         same_bits(x.covariance, y.covariance);
}

class SameBits : public ::testing::TestWithParam<Arithmetic> {
 protected:
  EmpiricalMeasure plain() const { return EmpiricalMeasure(tokens_, std::nullopt, GetParam()); }
  EmpiricalMeasure weighted() const { return EmpiricalMeasure(tokens_, weights_, GetParam()); }

  // The first coordinate grows along the prompt, so that the largest score rises from segment to segment.
  RowMatrix tokens_ = [] {
    RowMatrix tokens = normals(kLength, kDimension, 1);
    for (std::int64_t l = 0; l < kLength; ++l) tokens(l, 0) += 0.002 * static_cast<double>(l);
    return tokens;
  }();
  Vector weights_ = normals(kLength, 1, 2).cwiseAbs();
  Matrix directions_ = normals(kDimension, kDirections, 3);
  Matrix vectors_ = normals(kDimension, kDirections, 4);
};

TEST_P(SameBits, TiltsOfEveryOrder) {
  for (const EmpiricalMeasure& prompt : {plain(), weighted()}) {
    for (const TiltOrder order : {TiltOrder::log_partition, TiltOrder::mean, TiltOrder::covariance}) {
      const std::vector<Tilt> expected = prompt.tilts(directions_, order, {1, 0});
      for (const Execution& execution : executions()) {
        const std::vector<Tilt> tilts = prompt.tilts(directions_, order, execution);
        ASSERT_EQ(tilts.size(), expected.size());
        for (std::size_t q = 0; q < tilts.size(); ++q) {
          EXPECT_TRUE(same_bits(tilts[q], expected[q]))
              << "direction " << q << ", threads " << execution.threads << ", chunk " << execution.chunk;
        }
      }
    }
  }
}

TEST_P(SameBits, CovarianceProducts) {
  for (const EmpiricalMeasure& prompt : {plain(), weighted()}) {
    const Matrix expected = prompt.tilted_covariance_products(directions_, vectors_, {1, 0});
    for (const Execution& execution : executions()) {
      EXPECT_TRUE(same_bits(prompt.tilted_covariance_products(directions_, vectors_, execution), expected))
          << "threads " << execution.threads << ", chunk " << execution.chunk;
    }
  }
}

TEST_P(SameBits, AttentionAndItsGradients) {
  const EmpiricalMeasure prompt = plain();
  const FactoredWeights weights{normals(2, kDimension, 5), normals(2, 3, 6), normals(4, kDimension, 7), 0.5};
  const RowMatrix queries = normals(kDirections, 3, 8);
  const RowMatrix cotangents = normals(kDirections, 4, 9);
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    const RowMatrix output = attend(kind, prompt, weights, queries, {1, 0});
    const FactoredGradient gradient = attention_vjp(kind, prompt, weights, queries, cotangents, {1, 0});
    for (const int threads : {2, 3, 7}) {
      const Execution execution{threads, 20000};
      EXPECT_TRUE(same_bits(attend(kind, prompt, weights, queries, execution), output)) << threads;
      const FactoredGradient other = attention_vjp(kind, prompt, weights, queries, cotangents, execution);
      EXPECT_TRUE(same_bits(other.K, gradient.K) && same_bits(other.Q, gradient.Q) &&
                  same_bits(other.V, gradient.V))
          << threads;
    }
  }
}

TEST_P(SameBits, ManySegmentsManyTimes) {
  // Segments of unequal cost on more threads than cores finish in a different order every time.
  const RowMatrix tokens = normals(400001, 2, 10);
  const EmpiricalMeasure prompt(tokens, std::nullopt, GetParam());
  const Matrix directions = normals(2, 3, 11);
  const std::vector<Tilt> expected = prompt.tilts(directions, TiltOrder::mean, {1, 0});
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Execution execution{2 + repeat % 7, repeat % 2 == 0 ? 1 : 16384};
    const std::vector<Tilt> tilts = prompt.tilts(directions, TiltOrder::mean, execution);
    for (std::size_t q = 0; q < tilts.size(); ++q) EXPECT_TRUE(same_bits(tilts[q], expected[q])) << repeat;
  }
}

INSTANTIATE_TEST_SUITE_P(Arithmetic, SameBits, ::testing::Values(Arithmetic::float32, Arithmetic::float64),
                         [](const auto& instance) {
                           return instance.param == Arithmetic::float32 ? std::string("float32")
                                                                        : std::string("float64");
                         });

}  // namespace
}  // namespace largo::same_bits_test
