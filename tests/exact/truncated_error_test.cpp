// Errors of prompts without large weights: against the full error, and against simulated prompts.
#include "exact/truncated_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "largo/exact/softmax_moments.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"

namespace largo::test::truncated_error_test {
namespace {

constexpr double kRelative = 1e-10;   // as documented
constexpr double kLargestZScore = 4;  // 12 comparisons, the seed is fixed
constexpr std::size_t kPrompts = 100'000;

TEST(TruncatedError, WithoutATruncationIsTheWholeError) {
  for (const double s : {0.1, 0.5, 1.0, 3.0, 6.0}) {
    for (const double L : {2.0, 10.0, 1e4, 1e12, 1e22}) {
      const SoftmaxMoments moments = softmax_moments(s, L);
      const double whole = moments.mse.value + 3 * moments.P2.value;
      const exact::TruncatedError found = exact::truncated_error(s, L, 1e300, 3);
      EXPECT_NEAR(found.error / whole, 1, kRelative) << s << " " << L;
      EXPECT_EQ(found.probability, 1);
      EXPECT_EQ(found.beyond, 0);
    }
  }
}

TEST(TruncatedError, AgainstPrompts) {
  const struct {
    double s, M;
    int L;
  } kCases[] = {{0.5, 2, 5}, {1, 4, 20}, {2, 3, 3}, {2, 50, 60}};
  std::uint64_t id = 0;
  for (const auto& [s, M, L] : kCases) {
    std::vector<double> g(static_cast<std::size_t>(L));
    double count = 0, sum = 0, squares = 0, weight_sum = 0, weight_squares = 0;
    for (std::size_t k = 0; k < kPrompts; ++k) {
      Stream(3, id++).normals(0, g);
      double mass = 0, first = 0, second = 0, largest = 0, below = 0;
      for (const double x : g) {
        const double w = std::exp(s * x);
        mass += w;
        first += w * x;
        second += w * w;
        below += w <= M ? w : 0;
        largest = std::max(largest, w);
      }
      weight_sum += below / L;
      weight_squares += below / L * below / L;
      if (largest > M) continue;
      const double A = first / mass, error = (A - s) * (A - s) + 2 * second / (mass * mass);
      ++count;
      sum += error;
      squares += error * error;
    }
    const double n = kPrompts;
    const exact::TruncatedError found = exact::truncated_error(s, L, M, 2);
    EXPECT_NEAR(found.probability, count / n,
                kLargestZScore * std::sqrt(found.probability * found.beyond / n));
    EXPECT_NEAR(found.probability + found.beyond, 1, 1e-15);
    EXPECT_NEAR(found.error, sum / n, kLargestZScore * std::sqrt((squares / n - sum / n * sum / n) / n));
    const exact::TruncatedWeight weight = exact::truncated_weight(s, M);
    EXPECT_NEAR(weight.mean, weight_sum / n, kLargestZScore * std::sqrt(weight.variance / (L * n)));
    // A sample variance has a relative error of about √((kurtosis − 1)/n); these weights are bounded by M.
    const double variance = (weight_squares / n - weight_sum / n * weight_sum / n) * L;
    EXPECT_NEAR(variance / weight.variance, 1, 0.05) << s;
  }
}

TEST(TruncatedError, RareWeightsKeepTheirProbability) {
  // L P(g > 10) for ln M = 10 s; the tail from its asymptotic series
  const double tail = std::exp(-50.0) / std::sqrt(2 * std::numbers::pi) * (1.0 / 10 - 1e-3 + 3e-5 - 1.5e-6);
  EXPECT_NEAR(exact::truncated_error(1, 100, std::exp(10.0), 0).beyond / (100 * tail), 1, 1e-6);
}

TEST(TruncatedError, OddInputs) {
  EXPECT_THROW(exact::truncated_error(0, 10, 2, 0), InputError);
  EXPECT_THROW(exact::truncated_error(11, 10, 2, 0), InputError);
  EXPECT_THROW(exact::truncated_error(1, 1, 2, 0), InputError);
  EXPECT_THROW(exact::truncated_error(1, 1e23, 2, 0), InputError);
  EXPECT_THROW(exact::truncated_error(1, 10, 0, 0), InputError);
  EXPECT_THROW(exact::truncated_error(1, 10, 2, -1), InputError);
  EXPECT_THROW(exact::truncated_weight(std::nan(""), 2), InputError);
}

}  // namespace
}  // namespace largo::test::truncated_error_test
