// The sum must be the correctly rounded one, which a 4,000-bit float gives, in any order and split.
#include "largo/numerics/exact_sum.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <boost/multiprecision/mpfr.hpp>

namespace largo {
namespace {

// Wide enough for any sum of doubles: 2^1024 down to 2^-1074, and room for the carries.
using Huge = boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<700>>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kSubnormal = std::numeric_limits<double>::denorm_min();

double reference_sum(const std::vector<double>& terms) {
  Huge sum = 0;
  for (const double term : terms) sum += term;
  return mpfr_get_d(sum.backend().data(), MPFR_RNDN);
}

/// Terms with exponents uniform over [low, high], random signs and mantissas.
std::vector<double> random_terms(std::mt19937_64& engine, std::size_t count, int low, int high) {
  std::uniform_int_distribution<int> exponent(low, high);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::vector<double> terms(count);
  for (double& term : terms) {
    term = std::ldexp(mantissa(engine), exponent(engine)) * (engine() % 2 == 0 ? 1 : -1);
  }
  return terms;
}

TEST(ExactSum, IsCorrectlyRounded) {
  std::mt19937_64 engine(7);
  const int ranges[][2] = {{-1074, 1020}, {-1074, -1010}, {-30, 30}, {960, 1022}, {-1, 1}};
  for (const auto& range : ranges) {
    for (int repetition = 0; repetition < 200; ++repetition) {
      auto terms = random_terms(engine, 1 + engine() % 60, range[0], range[1]);
      // Half of the time, cancel most of it: the sum is then far smaller than the terms.
      if (repetition % 2 == 0) {
        const std::size_t count = terms.size();
        for (std::size_t i = 0; i + 1 < count; ++i) terms.push_back(-terms[i]);
      }
      std::shuffle(terms.begin(), terms.end(), engine);
      EXPECT_EQ(exact_sum(terms), reference_sum(terms)) << range[0] << " " << range[1] << " " << repetition;
    }
  }
}

TEST(ExactSum, TiesGoToEven) {
  const double half_ulp = 0x1p-53;
  EXPECT_EQ(exact_sum(std::vector{1.0, half_ulp}), 1);
  EXPECT_EQ(exact_sum(std::vector{1 + 0x1p-52, half_ulp}), 1 + 0x1p-51);
  EXPECT_EQ(exact_sum(std::vector{1.0, half_ulp, kSubnormal}), 1 + 0x1p-52);
  EXPECT_EQ(exact_sum(std::vector{1.0, half_ulp, -kSubnormal}), 1);
  EXPECT_EQ(exact_sum(std::vector{-1.0, -half_ulp, -kSubnormal}), -1 - 0x1p-52);
}

TEST(ExactSum, SubnormalsAreExact) {
  const std::vector<double> terms(1000, kSubnormal);
  EXPECT_EQ(exact_sum(terms), 1000 * kSubnormal);
  EXPECT_EQ(exact_sum(std::vector{0x1p-1022, -kSubnormal}), 0x1p-1022 - kSubnormal);
  EXPECT_EQ(exact_sum(std::vector{-kSubnormal}), -kSubnormal);
}

TEST(ExactSum, OnlyTheTotalCanOverflow) {
  EXPECT_EQ(exact_sum(std::vector{kLargest, kLargest, -kLargest}), kLargest);
  EXPECT_EQ(exact_sum(std::vector{kLargest, kLargest}), kInf);
  EXPECT_EQ(exact_sum(std::vector{-kLargest, -kLargest, -kLargest}), -kInf);
  // Half an ulp beyond the largest double rounds to infinity, anything less does not.
  EXPECT_EQ(exact_sum(std::vector{kLargest, 0x1p970}), kInf);
  EXPECT_EQ(exact_sum(std::vector{kLargest, 0x1p970, -kSubnormal}), kLargest);
  const std::vector<double> many(100000, kLargest);
  ExactSum sum;
  sum.add(many);
  EXPECT_EQ(sum.value(), kInf);
  for (const double term : many) sum.add(-term);
  sum.add(1.5);
  EXPECT_EQ(sum.value(), 1.5);
}

TEST(ExactSum, EdgeValues) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(exact_sum({})), 0U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(exact_sum(std::vector{-0.0, -0.0})), 0U);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(exact_sum(std::vector{1e300, -1e300})), 0U);
  EXPECT_EQ(exact_sum(std::vector{kInf, -1.0}), kInf);
  EXPECT_EQ(exact_sum(std::vector{1.0, -kInf, -kInf}), -kInf);
  EXPECT_TRUE(std::isnan(exact_sum(std::vector{kInf, -kInf})));
  EXPECT_TRUE(std::isnan(exact_sum(std::vector{1.0, kNaN, kInf})));
}

TEST(ExactSum, DoesNotDependOnOrderOrChunks) {
  std::mt19937_64 engine(11);
  auto terms = random_terms(engine, 5000, -200, 200);
  const double expected = exact_sum(terms);
  for (const std::size_t chunk : {1, 7, 64, 1000, 4999}) {
    std::shuffle(terms.begin(), terms.end(), engine);
    ExactSum total;
    for (std::size_t i = 0; i < terms.size(); i += chunk) {
      ExactSum part;
      part.add(std::span(terms).subspan(i, std::min(chunk, terms.size() - i)));
      total.merge(part);
    }
    EXPECT_EQ(total.value(), expected) << chunk;
  }
}

TEST(ExactSum, MergeCarriesSpecialValuesAndItself) {
  ExactSum infinite, finite;
  infinite.add(kInf);
  finite.add(2.5);
  finite.merge(finite);
  EXPECT_EQ(finite.value(), 5);
  finite.merge(infinite);
  EXPECT_EQ(finite.value(), kInf);
}

}  // namespace
}  // namespace largo
