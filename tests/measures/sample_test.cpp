// Samplers: a million tokens of every law against its exact moments, plain and tilted, and the promise that a
// token depends on its number alone. Seeds are fixed, so a run either always passes or always fails; with a
// fresh seed, one of the about 300 comparisons below would exceed the threshold in 2 % of the runs.
#include <atomic>
#include <cmath>

#include <gtest/gtest.h>

#include "largo/measures/gaussian.hpp"
#include "measures/catalogue.hpp"

namespace largo::sample_test {
namespace {

using test::Case;

constexpr std::int64_t kTokens = 1000000;
constexpr std::int64_t kBlock = 10000;
constexpr double kMaxZ = 4;  // two-sided false-alarm rate 6.3e-5 per comparison
// Where a statistic has no variance (x² of a Rademacher variable, a flat direction), only rounding is left.
constexpr double kRounding = 1e-10;

class Samples : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Laws, Samples, ::testing::ValuesIn(test::catalogue()), test::case_name);

/// Sums of a statistic and of its square.
struct Average {
  double sum = 0;
  double square = 0;
  void add(const Eigen::ArrayXd& values) {
    sum += values.sum();
    square += values.square().sum();
  }
  /// Expects that the average is within kMaxZ standard errors of zero, or within rounding.
  void expect_zero() const {
    const double n = static_cast<double>(kTokens);
    const double mean = sum / n;
    const double error = std::sqrt(std::max(0.0, square / n - mean * mean) / n);
    EXPECT_LE(std::abs(mean), kMaxZ * error + kRounding);
  }
};

TEST_P(Samples, MomentsOfAMillionTokens) {
  const Case& entry = GetParam();
  const std::ptrdiff_t d = entry.law->dimension();
  const test::Expected plain = expected_tilt(*entry.oracle, Vector::Zero(d));
  // Scores have the standard deviation 1/2: weights are of bounded size, so that the delta method holds.
  Vector a = test::random_matrix(60, d, 1);
  a *= 0.5 / std::sqrt(std::max(1e-6, a.dot(plain.covariance * a)));
  const test::Expected tilted = expected_tilt(*entry.oracle, a);

  std::vector<Average> mean(static_cast<std::size_t>(d));
  std::vector<Average> tilted_mean(static_cast<std::size_t>(d));
  std::vector<Average> covariance(static_cast<std::size_t>(d * d));
  RowMatrix tokens(kBlock, d);
  for (std::int64_t first = 0; first < kTokens; first += kBlock) {
    entry.law->sample(Stream(7, 3), static_cast<std::uint64_t>(first), tokens);
    const Eigen::ArrayXd weights = ((tokens * a).array() - tilted.log_partition).exp();
    const RowMatrix centred = tokens.rowwise() - plain.mean.transpose();
    for (std::ptrdiff_t i = 0; i < d; ++i) {
      const auto at = static_cast<std::size_t>(i);
      mean[at].add(centred.col(i).array());
      // The self-normalised mean minus the exact one is the average of w (z - m), up to a factor near one.
      tilted_mean[at].add(weights * (tokens.col(i).array() - tilted.mean[i]));
      for (std::ptrdiff_t j = 0; j <= i; ++j) {
        covariance[static_cast<std::size_t>(i * d + j)].add(centred.col(i).array() * centred.col(j).array() -
                                                            plain.covariance(i, j));
      }
    }
  }
  for (std::ptrdiff_t i = 0; i < d; ++i) {
    SCOPED_TRACE(::testing::Message() << "coordinate " << i);
    mean[static_cast<std::size_t>(i)].expect_zero();
    tilted_mean[static_cast<std::size_t>(i)].expect_zero();
    for (std::ptrdiff_t j = 0; j <= i; ++j) {
      SCOPED_TRACE(::testing::Message() << "with coordinate " << j);
      covariance[static_cast<std::size_t>(i * d + j)].expect_zero();
    }
  }
}

TEST_P(Samples, PiecesAreTheWhole) {
  const Measure& law = *GetParam().law;
  const Stream stream(11, 5);
  const RowMatrix whole = sample_prompt(law, stream, 2500);
  RowMatrix pieces(whole.rows(), whole.cols());
  std::ptrdiff_t begin = 0;
  for (const std::ptrdiff_t count : {1, 2, 1021, 1, 1025, 450}) {
    law.sample(stream, static_cast<std::uint64_t>(begin), pieces.middleRows(begin, count));
    begin += count;
  }
  ASSERT_EQ(begin, whole.rows());
  EXPECT_EQ(pieces, whole);

  // The rows belong to a wider matrix, with an outer stride.
  RowMatrix wide = RowMatrix::Zero(7, law.dimension() + 2);
  law.sample(stream, 100, wide.middleCols(1, law.dimension()));
  EXPECT_EQ(wide.middleCols(1, law.dimension()), whole.middleRows(100, 7));
  EXPECT_EQ(wide.col(0).norm() + wide.rightCols(1).norm(), 0);
}

TEST_P(Samples, PromptsDoNotDependOnThreads) {
  const Measure& law = *GetParam().law;
  const std::int64_t length = 40000;  // several pieces
  RowMatrix whole(length, law.dimension());
  law.sample(Stream(11, 5), 0, whole);
  for (const int threads : {1, 3}) {
    EXPECT_EQ(sample_prompt(law, Stream(11, 5), length, {.threads = threads}), whole);
  }
}

TEST_P(Samples, StreamsDiffer) {
  const Measure& law = *GetParam().law;
  if (law.covariance().norm() == 0) return;  // a point has one sample
  const RowMatrix tokens = sample_prompt(law, Stream(11, 5), 100);
  EXPECT_NE(tokens, sample_prompt(law, Stream(11, 6), 100));
  EXPECT_NE(tokens, sample_prompt(law, Stream(12, 5), 100));
  EXPECT_NE(tokens.topRows(50), tokens.bottomRows(50));
}

TEST(Prompts, StopWhileTheyAreDrawn) {
  const std::atomic<bool> stop = true;
  EXPECT_THROW(sample_prompt(GaussianMeasure::standard(2), Stream(1, 1), 100000, {.stop = &stop}), Stopped);
}

}  // namespace
}  // namespace largo::sample_test
