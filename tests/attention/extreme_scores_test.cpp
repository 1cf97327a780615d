// Softmax over prompts whose scores are hard to sum, against exact answers. A token is (score, value), and
// the direction is e_1.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "wide_attention.hpp"

namespace largo::extreme_scores_test {
namespace {

using test::Wide;

constexpr double kMaxUlp = 4;              // promised for scores given exactly
constexpr double kSumOfWeights = 0x1p-52;  // each weight is rounded; their exact sum is not rounded again

/// |value - exact| in units in the last place of `exact`.
double ulp_error(double value, const Wide& exact) {
  if (exact == 0) return value == 0 ? 0 : std::numeric_limits<double>::infinity();
  int exponent = 0;
  (void)frexp(exact, &exponent);
  const Wide ulp = ldexp(Wide(1), std::max(exponent, std::numeric_limits<double>::min_exponent) - 53);
  return static_cast<double>(abs(Wide(value) - exact) / ulp);
}

struct Exact {
  Wide log_partition;
  Wide mean_value;
};

/// Checks the errors of the streamed log-partition and mean value, and prints the worst of a test.
class Checker {
 public:
  Checker() = default;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;
  ~Checker() {
    std::printf("  max error of the log-partition %.2f ulp, of the mean %.2f ulp\n", partition_, mean_);
  }

  void expect_accurate(const std::string& name, const Measure& prompt, const Exact& exact) {
    const Tilt tilt = prompt.tilt(Vector::Unit(prompt.dimension(), 0), TiltOrder::mean);
    const double of_log_partition = ulp_error(tilt.log_partition, exact.log_partition);
    const double of_mean = ulp_error(tilt.mean[prompt.dimension() - 1], exact.mean_value);
    EXPECT_LE(of_log_partition, kMaxUlp) << name << ": " << tilt.log_partition;
    EXPECT_LE(of_mean, kMaxUlp) << name << ": " << tilt.mean.transpose();
    partition_ = std::max(partition_, of_log_partition);
    mean_ = std::max(mean_, of_mean);
  }

 private:
  double partition_ = 0;
  double mean_ = 0;
};

Exact exact_answer(const RowMatrix& tokens, const Vector& weights) {
  const double largest = tokens.col(0).maxCoeff();
  Wide partition = 0;
  Wide sum = 0;
  Wide mass = 0;
  for (std::ptrdiff_t l = 0; l < tokens.rows(); ++l) {
    const Wide term = weights[l] * exp(Wide(tokens(l, 0)) - Wide(largest));
    partition += term;
    sum += term * tokens(l, 1);
    mass += weights[l];
  }
  return {Wide(largest) + log(partition / mass), sum / partition};
}

// How far the sum of the weights is above one.
double excess_of_sum(const Vector& weights) {
  Wide sum = -1;
  for (const double weight : weights) sum += weight;
  return sum.convert_to<double>();
}

RowMatrix with_values(const std::vector<double>& scores) {
  RowMatrix tokens(static_cast<std::ptrdiff_t>(scores.size()), 2);
  for (std::ptrdiff_t l = 0; l < tokens.rows(); ++l) {
    tokens(l, 0) = scores[static_cast<std::size_t>(l)];
    tokens(l, 1) = 1 + std::fmod(0.6180339887 * static_cast<double>(l), 1.0);
  }
  return tokens;
}

TEST(ExtremeScores, AtTheEndsOfTheRange) {
  Checker checker;
  const std::vector<std::vector<double>> cases = {
      {1e308, -1e308}, {-1e308, 1e308, 0}, {0, -1e308, 5, 1}, {-1.7e308, 3, 1.7e308, -1e-308}};
  for (const std::vector<double>& scores : cases) {
    const RowMatrix tokens = with_values(scores);
    const EmpiricalMeasure prompt(tokens);
    checker.expect_accurate("ends of the range", prompt, exact_answer(tokens, Vector::Ones(tokens.rows())));
    const Vector weights = prompt.softmax_weights(Vector::Unit(2, 0));
    EXPECT_EQ(weights.sum(), 1);
    EXPECT_TRUE(weights.allFinite());
  }
}

TEST(ExtremeScores, SeveralTokensAtTheEndOfTheRange) {
  // The log-partition and the weights are right; Σ w z is not representable, and an error says so.
  for (const double score : {1e308, -1e308}) {
    const EmpiricalMeasure prompt(with_values({score, score, -1e308}));
    const double share = score > 0 ? 2.0 / 3 : 1;
    EXPECT_EQ(prompt.log_partition(Vector::Unit(2, 0)), score + std::log(share));
    EXPECT_EQ(prompt.softmax_weights(Vector::Unit(2, 0))[0], score > 0 ? 1.0 / 2 : 1.0 / 3);
    EXPECT_THROW(prompt.tilt(Vector::Unit(2, 0), TiltOrder::mean), InputError);
  }
}

TEST(ExtremeScores, LargeByTheDirectionAlone) {
  // Tokens of 1e154 along a direction of 1e154: the scores are ±1e308, and the moments fit.
  RowMatrix tokens = with_values({1e154, -1e154, 1e154, 0, 1e154});
  for (std::ptrdiff_t l = 0; l < tokens.rows(); ++l) tokens(l, 1) = static_cast<double>(l + 1);
  const EmpiricalMeasure prompt(tokens);
  const Tilt tilt = prompt.tilt(1e154 * Vector::Unit(2, 0), TiltOrder::covariance);
  EXPECT_EQ(tilt.log_partition, 1e154 * 1e154);
  EXPECT_EQ(tilt.mean[1], 3);
  EXPECT_NEAR(tilt.covariance(1, 1), 8.0 / 3, 1e-14);
  EXPECT_EQ(prompt.softmax_weights(1e154 * Vector::Unit(2, 0))[0], 1.0 / 3);
}

TEST(ExtremeScores, AMaximumAndTenMillionTinyTerms) {
  Checker checker;
  // Each tiny term is below half an ulp of the maximum: added to it one by one, all would vanish.
  constexpr std::ptrdiff_t kTiny = 10000000;
  for (const double tiny : {-37.0, -40.0}) {
    RowMatrix scores = RowMatrix::Constant(kTiny + 1, 1, tiny);
    const Wide rest = kTiny * exp(Wide(tiny));
    const Exact exact{log((1 + rest) / (kTiny + 1)), tiny * rest / (1 + rest)};
    for (const std::ptrdiff_t place : {std::ptrdiff_t{0}, kTiny / 2, kTiny}) {
      scores(place, 0) = 0;
      const EmpiricalMeasure prompt(view_of(scores));
      checker.expect_accurate("maximum at " + std::to_string(place) + ", 1e7 of " + std::to_string(tiny),
                              prompt, exact);
      if (place == kTiny / 2) {
        const Vector weights = prompt.softmax_weights(Vector::Ones(1));
        EXPECT_LE(ulp_error(weights[place], 1 / (1 + rest)), kMaxUlp);
        EXPECT_LE(ulp_error(weights[0], exp(Wide(tiny)) / (1 + rest)), kMaxUlp);
        EXPECT_EQ(weights[0], weights[kTiny]);
        EXPECT_LE(std::abs(excess_of_sum(weights)), kSumOfWeights);
      }
      scores(place, 0) = tiny;
    }
  }
}

TEST(ExtremeScores, AMaximumAndABillionTinyTermsByWeight) {
  Checker checker;
  for (const double tiny : {-37.0, -40.0, -60.0}) {
    const RowMatrix tokens = with_values({0, tiny});
    const Vector weights = (Vector(2) << 1, 1e9).finished();
    checker.expect_accurate("1 and 1e9 of " + std::to_string(tiny), EmpiricalMeasure(tokens, weights),
                            exact_answer(tokens, weights));
  }
}

/// A billion equal numbers, apart from the first one, in 64 MiB: one piece of memory is mapped many times.
class RepeatedMemory {
 public:
  RepeatedMemory(std::int64_t count, double first, double others)
      : bytes_((count * 8 / kPiece + 1) * kPiece) {
    const int file = memfd_create("tokens", 0);
    std::vector<double> piece(kPiece / 8, others);
    if (file < 0 || write(file, piece.data(), kPiece) != kPiece) std::abort();
    data_ = static_cast<char*>(mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (std::size_t at = 0; at < bytes_; at += kPiece) {
      mmap(data_ + at, kPiece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0);
    }
    close(file);
    *reinterpret_cast<double*>(data_) = first;
  }
  ~RepeatedMemory() { munmap(data_, bytes_); }
  RepeatedMemory(const RepeatedMemory&) = delete;
  RepeatedMemory& operator=(const RepeatedMemory&) = delete;

  const double* data() const { return reinterpret_cast<const double*>(data_); }

 private:
  static constexpr std::int64_t kPiece = 1 << 26;
  std::size_t bytes_;
  char* data_;
};

TEST(ExtremeScores, AMaximumAndABillionTinyTerms) {
  if (std::getenv("LARGO_LONG_TESTS") == nullptr) GTEST_SKIP() << "set LARGO_LONG_TESTS=1";
  Checker checker;
  constexpr std::int64_t kTiny = 1000000000;
  const RepeatedMemory scores(kTiny + 1, 0, -40);
  const EmpiricalMeasure prompt(ArrayView{scores.data(), Scalar::float64, kTiny + 1, 1, 1, 1});
  const Wide rest = kTiny * exp(Wide(-40));
  checker.expect_accurate("1e9 of -40", prompt, {log((1 + rest) / (kTiny + 1)), -40 * rest / (1 + rest)});
}

TEST(ExtremeScores, Ascending) {
  Checker checker;
  constexpr std::ptrdiff_t kLength = 1 << 20;
  for (const double step : {0x1p-20, 0x1p-10}) {  // from 0 to 1, and to 1024
    RowMatrix scores(kLength, 1);
    Wide term = 1;
    Wide partition = 0;
    Wide sum = 0;
    const Wide ratio = exp(Wide(step));
    for (std::ptrdiff_t l = 0; l < kLength; ++l) {
      scores(l, 0) = step * static_cast<double>(l);
      partition += term;
      sum += term * scores(l, 0);
      term *= ratio;
    }
    const Exact exact{log(partition / kLength), sum / partition};
    checker.expect_accurate("ascending to " + std::to_string(step * kLength), EmpiricalMeasure(scores),
                            exact);
    const Vector weights = EmpiricalMeasure(scores).softmax_weights(Vector::Ones(1));
    EXPECT_LE(ulp_error(weights[kLength - 1], term / ratio / partition), kMaxUlp);
    EXPECT_LE(std::abs(excess_of_sum(weights)), kSumOfWeights);
    const RowMatrix descending = scores.colwise().reverse();
    checker.expect_accurate("descending from " + std::to_string(step * kLength), EmpiricalMeasure(descending),
                            exact);
  }
}

TEST(ExtremeScores, AllEqual) {
  Checker checker;
  for (const double score : {0.0, 1e-3, 0.3, 1.0, 31.999, 32.0, 700.3, -1e5, 1e17}) {
    for (const std::ptrdiff_t length : {1, 2, 1000, 10007}) {
      const RowMatrix tokens = with_values(std::vector<double>(static_cast<std::size_t>(length), score));
      const EmpiricalMeasure prompt(tokens);
      Wide sum = 0;
      for (std::ptrdiff_t l = 0; l < length; ++l) sum += tokens(l, 1);
      checker.expect_accurate(std::to_string(length) + " of " + std::to_string(score), prompt,
                              {Wide(score), sum / length});
      EXPECT_EQ(prompt.softmax_weights(Vector::Unit(2, 0)),
                Vector::Constant(length, 1 / static_cast<double>(length)));
    }
  }
}

TEST(ExtremeScores, RandomScores) {
  for (const double scale : {1e-3, 1.0, 30.0, 600.0, 1e6}) {
    std::vector<double> scores;
    for (int l = 0; l < 3000; ++l) scores.push_back(scale * std::sin(12.9898 * l * l));
    const RowMatrix tokens = with_values(scores);
    const Exact exact = exact_answer(tokens, Vector::Ones(tokens.rows()));
    const Tilt tilt = EmpiricalMeasure(tokens).tilt(Vector::Unit(2, 0), TiltOrder::mean);
    // Scores of both signs may cancel in the log-partition, whose error is then that of the terms: 1 + score.
    const double unit = std::max({1.0, scale, std::abs(tilt.log_partition)});
    const double of_log_partition = static_cast<double>(abs(tilt.log_partition - exact.log_partition)) / unit;
    EXPECT_LE(of_log_partition, kMaxUlp * 0x1p-53) << scale;
    EXPECT_LE(ulp_error(tilt.mean[1], exact.mean_value), kMaxUlp) << scale;
  }
}

}  // namespace
}  // namespace largo::extreme_scores_test
