#include "numerics/log_sum_exp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "high_precision.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"

namespace largo::test::log_sum_exp_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSoftmaxMaxUlp = 2.5;  // documented: exponential, sum, division

Wide exact_log_sum_exp(const std::vector<double>& scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  Wide sum = 0;
  for (const double score : scores) sum += exp(Wide(score) - Wide(largest));
  return Wide(largest) + log(sum);
}

/// The error in ulp of the larger of |value| and |largest score|, as documented.
double error_of(double value, const std::vector<double>& scores) {
  const Wide exact = exact_log_sum_exp(scores);
  const double largest = std::abs(*std::max_element(scores.begin(), scores.end()));
  const Wide unit = largest > abs(exact) ? Wide(largest) : exact;
  return ulp_error(value, exact) * static_cast<double>(abs(exact / unit));
}

double one_by_one(const std::vector<double>& scores) {
  numerics::LogSumExp sum;
  for (const double score : scores) sum.add(score);
  return sum.value();
}

double in_merged_parts(const std::vector<double>& scores) {
  numerics::LogSumExp total;
  for (std::size_t i = 0; i < scores.size(); i += 17) {
    numerics::LogSumExp part;
    part.add(std::span(scores).subspan(i, std::min<std::size_t>(17, scores.size() - i)));
    total.merge(part);
  }
  return total.value();
}

void expect_accurate(const std::string& name, const std::vector<double>& scores) {
  EXPECT_LE(error_of(numerics::log_sum_exp(scores), scores), numerics::kLogSumExpMaxUlp) << name;
  EXPECT_LE(error_of(one_by_one(scores), scores), numerics::kLogSumExpMaxUlp) << name;
  EXPECT_LE(error_of(in_merged_parts(scores), scores), numerics::kLogSumExpMaxUlp) << name;
}

std::vector<double> random_scores(std::size_t count, double low, double high, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> law(low, high);
  std::vector<double> scores(count);
  for (double& score : scores) score = law(engine);
  return scores;
}

TEST(LogSumExp, RandomScores) {
  double worst = 0;
  const double scales[] = {1e-12, 1e-3, 1, 30, 300, 2000, 1e6, 1e15};
  for (unsigned seed = 0; seed < 150; ++seed) {
    const double scale = scales[seed % std::size(scales)];
    const auto scores = random_scores(1 + seed * 3, -scale, scale, seed);
    expect_accurate("scale " + std::to_string(scale), scores);
    worst = std::max(
        {worst, error_of(numerics::log_sum_exp(scores), scores), error_of(one_by_one(scores), scores)});
  }
  std::printf("  max error of log_sum_exp %.3f ulp\n", worst);
}

TEST(LogSumExp, ExtremeScores) {
  expect_accurate("1e308", {1e308, 1e308, -1e308, 0});
  EXPECT_EQ(numerics::log_sum_exp(std::vector{1e308, -1e308}), 1e308);
  EXPECT_EQ(numerics::log_sum_exp(std::vector{-1e308, -1e308}), -1e308);
  EXPECT_EQ(one_by_one({-1e308, 1e308}), 1e308);
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(one_by_one({-largest, largest, largest}), largest);
}

TEST(LogSumExp, AMaximumAndManyTermsBelowHalfAnUlp) {
  // 10^6 terms of exp(-38) = 3e-17 each, a quarter of an ulp of 1: added one by one, they would vanish.
  std::vector<double> scores(1000001, -38.0);
  scores[0] = 0;
  const Wide exact = log(1 + 1000000 * exp(Wide(-38)));
  EXPECT_LE(ulp_error(numerics::log_sum_exp(scores), exact), numerics::kLogSumExpMaxUlp);
  EXPECT_LE(ulp_error(one_by_one(scores), exact), numerics::kLogSumExpMaxUlp);
  std::reverse(scores.begin(), scores.end());
  EXPECT_LE(ulp_error(numerics::log_sum_exp(scores), exact), numerics::kLogSumExpMaxUlp);
  EXPECT_LE(ulp_error(one_by_one(scores), exact), numerics::kLogSumExpMaxUlp);
  EXPECT_EQ(one_by_one({0, -50}), std::exp(-50.0));
}

TEST(LogSumExp, AscendingScores) {
  // Every score is a new maximum, and the reference moves many times.
  std::vector<double> scores(30000);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = -40 + 0.01 * static_cast<double>(i);
  expect_accurate("ascending", scores);
  std::reverse(scores.begin(), scores.end());
  expect_accurate("descending", scores);
}

TEST(LogSumExp, EqualScores) {
  for (const double score : {0.0, 1.0, -1.0, 1e-3, 31.999, 32.0, 700.3, -1e5, 1e17}) {
    expect_accurate("equal", std::vector<double>(1000, score));
    EXPECT_EQ(one_by_one({score}), score);
  }
}

TEST(LogSumExp, EdgeValues) {
  EXPECT_EQ(numerics::log_sum_exp({}), -kInf);
  EXPECT_EQ(numerics::log_sum_exp(std::vector{-kInf, -kInf}), -kInf);
  EXPECT_EQ(numerics::log_sum_exp(std::vector{-kInf, 3.0}), 3);
  EXPECT_EQ(one_by_one({-kInf, 3.0, -kInf}), 3);
  EXPECT_EQ(numerics::log_sum_exp(std::vector{kInf, 3.0}), kInf);
  EXPECT_EQ(one_by_one({kInf, -kInf, 2}), kInf);
  EXPECT_TRUE(std::isnan(numerics::log_sum_exp(std::vector{1.0, kNaN, kInf})));
  EXPECT_TRUE(std::isnan(one_by_one({kNaN})));
  numerics::LogSumExp sum, empty;
  sum.add(2);
  sum.merge(empty);
  EXPECT_EQ(sum.value(), 2);
  empty.merge(sum);
  EXPECT_EQ(empty.value(), 2);
  sum.merge(sum);
  EXPECT_NEAR(sum.value(), 2 + std::log(2.0), 4e-16);
}

TEST(LogSumExp, WeightsMultiply) {
  numerics::LogSumExp sum;
  sum.add(1, 3);
  sum.add(-2, 0.5);
  sum.add(1, 4);
  sum.add(kInf, 0);
  const Wide exact = log(7 * exp(Wide(1)) + exp(Wide(-2)) / 2);
  EXPECT_LE(ulp_error(sum.value(), exact), numerics::kLogSumExpMaxUlp);
  EXPECT_THROW(sum.add(1, -1), InputError);
  EXPECT_THROW(sum.add(1, kNaN), InputError);
}

TEST(LogSumExp, SameBitsAtEveryLevel) {
  const auto scores = random_scores(1001, -50, 50, 3);
  force_simd_level("scalar");
  const double expected = numerics::log_sum_exp(scores);
  const Vector weights = numerics::softmax(scores);
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    EXPECT_EQ(numerics::log_sum_exp(scores), expected) << level;
    EXPECT_EQ(numerics::softmax(scores), weights) << level;
  }
  force_simd_level(simd_levels().front());
}

TEST(ScoreReference, IsTheNextMultipleOfTheGrid) {
  EXPECT_EQ(numerics::score_reference(0), 0);
  EXPECT_EQ(numerics::score_reference(1e-300), numerics::kScoreGrid);
  EXPECT_EQ(numerics::score_reference(32), 32);
  EXPECT_EQ(numerics::score_reference(-1), 0);
  EXPECT_EQ(numerics::score_reference(-33), -32);
  EXPECT_EQ(numerics::score_reference(1e308), 1e308);
  EXPECT_EQ(numerics::score_reference(-std::numeric_limits<double>::max()),
            -std::numeric_limits<double>::max());
}

TEST(Softmax, WeightsAreAccurateAndSumToOne) {
  double worst = 0;
  for (const double scale : {1e-3, 1.0, 30.0, 600.0, 1e6}) {
    const auto scores = random_scores(500, -scale, scale, 5);
    const Vector weights = numerics::softmax(scores);
    const Wide total = exact_log_sum_exp(scores);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const Wide exact = exp(Wide(scores[i]) - total);
      if (exact < 1e-300) continue;  // there an ulp is one of the subnormal numerator, not of the quotient
      worst = std::max(worst, ulp_error(weights[static_cast<Eigen::Index>(i)], exact));
    }
    Wide sum = 0;
    for (const double weight : weights) sum += weight;
    EXPECT_LE(abs(sum - 1), 0x1p-52);
  }
  std::printf("  max error of softmax %.3f ulp\n", worst);
  EXPECT_LE(worst, kSoftmaxMaxUlp);
}

TEST(Softmax, EdgeValues) {
  EXPECT_EQ(numerics::softmax(std::vector{1e308, -1e308}), (Vector(2) << 1, 0).finished());
  EXPECT_EQ(numerics::softmax(std::vector{-kInf, 5.0, 5.0}), (Vector(3) << 0, 0.5, 0.5).finished());
  EXPECT_THROW(numerics::softmax({}), InputError);
  EXPECT_THROW(numerics::softmax(std::vector{-kInf}), InputError);
  EXPECT_THROW(numerics::softmax(std::vector{1.0, kNaN}), InputError);
  EXPECT_THROW(numerics::softmax(std::vector{kInf, 1.0}), InputError);
}

}  // namespace
}  // namespace largo::test::log_sum_exp_test
