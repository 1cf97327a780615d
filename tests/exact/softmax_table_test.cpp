#include "largo/exact/softmax_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <thread>
#include <vector>

#include "largo/exact/softmax_moments.hpp"
#include "largo/io/npy.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"

namespace largo::softmax_table_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kCount = 12;

constexpr std::array<const char*, kCount> kNames = {
    "P2",       "P3",           "P2P2",        "mean",           "mse",      "variance",
    "P2_slope", "variance_mse", "variance_P2", "squared_spread", "P3_slope", "P2P2_slope"};

std::array<double, kCount> values(const SoftmaxStatistics& m) {
  return {m.P2,       m.P3,           m.P2P2,        m.mean,           m.mse,      m.variance,
          m.P2_slope, m.variance_mse, m.variance_P2, m.squared_spread, m.P3_slope, m.P2P2_slope};
}

std::array<double, kCount> values(const SoftmaxMoments& m) {
  return {
      m.P2.value,       m.P3.value,        m.P2P2.value,         m.mean.value,        m.mse.value,
      m.variance.value, m.P2_slope.value,  m.variance_mse.value, m.variance_P2.value, m.squared_spread.value,
      m.P3_slope.value, m.P2P2_slope.value};
}

// The scales of the relative errors: see SoftmaxStatistics::relative_error.
std::array<double, kCount> sizes(double s, const std::array<double, kCount>& truth) {
  std::array<double, kCount> size = truth;
  size[6] = s * truth[0];
  size[8] = truth[1];
  size[10] = s * truth[1];
  size[11] = s * truth[2];
  // Relative accuracy is not promised below 1e-280.
  for (double& x : size) x = std::max(std::abs(x), 1e-280);
  return size;
}

// The errors must be within `bar` and within the table's own estimate.
void expect_close(const SoftmaxStatistics& got, double s, double L, const std::array<double, kCount>& truth,
                  double bar) {
  const auto computed = values(got);
  const auto size = sizes(s, truth);
  for (std::size_t i = 0; i < kCount; ++i) {
    const double error = std::abs(computed[i] - truth[i]) / size[i];
    EXPECT_LE(error, bar) << kNames[i] << " at s = " << s << ", L = " << L;
    EXPECT_LE(error, got.relative_error + 1e-14) << kNames[i] << " at s = " << s << ", L = " << L;
  }
}

class TableOf : public ::testing::TestWithParam<double> {};

// Spreads lie between the nodes, at the edges of panels and beyond the last panel.
TEST_P(TableOf, AgreesWithTheMomentsWithinItsEstimate) {
  const double L = GetParam();
  const SoftmaxTable table(L);
  const double line = std::max(1.0, condensation_line(L));
  std::vector<double> spreads = {1e-9, 1e-3, 50 * line, 1e3 * line, 9.9e5};
  for (int i = 1; i <= 60; ++i) spreads.push_back(2.6 * line * (i - 0.3) / 60);
  for (const double edge : {1.0, 1.3, 1.75, 2.3, 3.1, 8.0})
    spreads.push_back(edge * std::max(0.85, line / 3.5));
  for (const double s : spreads) {
    const SoftmaxStatistics got = table(s);
    expect_close(got, s, L, values(softmax_moments(s, L)), 1e-10);
    EXPECT_EQ(got.bias, -s * got.P2);
  }
}

INSTANTIATE_TEST_SUITE_P(Lengths, TableOf,
                         ::testing::Values(1.5, 2, 3, 10, 47.5, 1e3, 1e6, 1e9, 1e12, 1e25, 1e60),
                         [](const auto& length) { return "Case" + std::to_string(length.index); });

// The reference is independent of the formulas that fill the table.
TEST(SoftmaxTable, AgreesWithFortyDigits) {
  const Matrix reference = NpyArray::open(LARGO_TEST_DATA "/softmax_moments.npy").matrix();
  int compared = 0;
  for (std::ptrdiff_t row = 0; row < reference.rows(); row += 97) {
    const double s = reference(row, 0);
    const double L = reference(row, 1);
    if (L < 1.5 || L > 1e100) continue;
    const auto column = [&](int i) { return reference(row, i); };
    // E[A] is among the columns, whose order data/README.md gives.
    expect_close(SoftmaxTable(L)(s), s, L,
                 {column(2), column(3), column(4), column(5), column(6), column(7), column(11), column(9),
                  column(10), column(8), column(12), column(13)},
                 1e-10);
    ++compared;
  }
  EXPECT_GE(compared, 10);
}

TEST(SoftmaxTable, SlopesAreThoseOfTheTable) {
  const SoftmaxTable table(1e6);
  constexpr double kStep = 1e-4;
  for (const double s : {0.2, 1.1, 1.9, 3.3, 4.9, 7.0, 20.0}) {
    const SoftmaxStatistics m = table(s);
    const SoftmaxStatistics after = table(s + kStep);
    const SoftmaxStatistics before = table(s - kStep);
    EXPECT_NEAR((after.P2 - before.P2) / (2 * kStep), m.P2_slope, 1e-6 * m.P2) << s;
    EXPECT_NEAR((after.P3 - before.P3) / (2 * kStep), m.P3_slope, 1e-5 * m.P3) << s;
    EXPECT_NEAR((after.P2P2 - before.P2P2) / (2 * kStep), m.P2P2_slope, 1e-5 * m.P2P2) << s;
  }
}

TEST(SoftmaxTable, ClosedCases) {
  const SoftmaxStatistics zero = SoftmaxTable(100)(0);
  EXPECT_NEAR(zero.P2, 0.01, 1e-14);
  EXPECT_NEAR(zero.P2P2, 1e-4, 1e-15);
  EXPECT_NEAR(zero.variance, 0.99, 1e-12);
  EXPECT_EQ(zero.mean, 0);
  EXPECT_EQ(zero.P2_slope, 0);
  const SoftmaxStatistics one = SoftmaxTable(1)(2);
  EXPECT_EQ(one.P2, 1);
  EXPECT_EQ(one.bias, -2);
  EXPECT_EQ(one.mse, 5);
  EXPECT_LE(one.relative_error, 1e-14);
  const SoftmaxStatistics limit = SoftmaxTable(kInfinity)(2);
  EXPECT_EQ(limit.P2, 0);
  EXPECT_EQ(limit.mean, 2);
  EXPECT_EQ(limit.variance, 1);
}

// Little is promised beyond L = 1e100, but results stay sensible.
TEST(SoftmaxTable, VeryLongPrompts) {
  const SoftmaxTable table(1e300);
  for (const double s : {1e-6, 0.5, 2.0, 13.0, 30.0, 500.0}) {
    const SoftmaxStatistics got = table(s);
    const SoftmaxMoments m = softmax_moments(s, 1e300);
    EXPECT_NEAR(got.P2, m.P2.value, 1e-10 * m.P2.value) << s;
    EXPECT_NEAR(got.mse, m.mse.value, 1e-10 * m.mse.value) << s;
    EXPECT_NEAR(got.variance, m.variance.value, 1e-10) << s;
  }
}

// Next to one token most statistics vanish like L - 1, and are not interpolated.
TEST(SoftmaxTable, NextToOneToken) {
  for (const double L : {std::nextafter(1.0, 2.0), 1 + 1e-12, 1 + 1e-6}) {
    const SoftmaxTable table(L);
    for (const double s : {0.0, 0.5, 2.0, 100.0, 1e6}) {
      EXPECT_EQ(values(table(s)), values(softmax_moments(s, L))) << s << ", " << L;
      EXPECT_LE(table(s).relative_error, 1e-10);
    }
  }
}

TEST(SoftmaxTable, SameBitsForAnyThreadAndLevel) {
  const std::vector<double> spreads = {0.1, 1.7, 2.2, 4.4, 9.0, 77.0};
  std::vector<SoftmaxStatistics> alone;
  {
    const SoftmaxTable table(5e4);
    for (const double s : spreads) alone.push_back(table(s));
  }
  const SoftmaxTable table(5e4);
  std::vector<SoftmaxStatistics> together(4 * spreads.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < spreads.size(); ++i) {
          const std::size_t j = t % 2 == 0 ? i : spreads.size() - 1 - i;
          together[t * spreads.size() + j] = table(spreads[j]);
        }
      });
    }
  }
  const std::string best = simd_level();
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    const SoftmaxTable at_level(5e4);
    at_level.fill(10, {.threads = 2});
    for (std::size_t i = 0; i < spreads.size(); ++i) {
      EXPECT_EQ(values(at_level(spreads[i])), values(alone[i])) << level;
    }
  }
  force_simd_level(best);
  for (std::size_t i = 0; i < together.size(); ++i) {
    EXPECT_EQ(values(together[i]), values(alone[i % spreads.size()])) << i;
  }
}

TEST(SoftmaxTable, IsShared) {
  const auto first = SoftmaxTable::shared(123);
  EXPECT_EQ(SoftmaxTable::shared(123), first);
  EXPECT_NE(SoftmaxTable::shared(124), first);
  for (int L = 200; L < 280; ++L) SoftmaxTable::shared(L);
  EXPECT_NE(SoftmaxTable::shared(123), first);  // no longer kept, but ours is still good
  EXPECT_EQ(first->lengths().longest(), 123);
}

TEST(SoftmaxTable, RefusesBadInput) {
  EXPECT_THROW(SoftmaxTable(0.5), InputError);
  EXPECT_THROW(SoftmaxTable(std::nan("")), InputError);
  EXPECT_THROW(SoftmaxTable::shared(1e301), InputError);
  const SoftmaxTable table(10);
  EXPECT_THROW(table(-1), InputError);
  EXPECT_THROW(table(std::nan("")), InputError);
  EXPECT_THROW(table(2e6), InputError);
  EXPECT_THROW(table.fill(-1), InputError);
  EXPECT_THROW((SoftmaxTable{kInfinity}(-1)), InputError);
}

// Two tokens have A = (M + D tanh(sD/√2))/√2 and P_2 = (1 + tanh²(sD/√2))/2 with M, D independent standard
// normals.
TEST(SoftmaxTable, FDoesNotCancel) {
  const SoftmaxTable table(2);
  for (const double s : {1e-3, 0.3, 1.0, 3.0, 30.0, 1e3, 1e5}) {
    // Over D > 0, in v with D = exp(v - e^-v): the rule sees D ~ 1/s as well as D ~ 1.
    double F = 0;
    constexpr double kStep = 1.0 / 256;
    for (double v = -5; v < 3; v += kStep) {
      const double D = std::exp(v - std::exp(-v)), th = std::tanh(s * D / std::sqrt(2.0));
      const double density = std::sqrt(2 / std::numbers::pi) * std::exp(-D * D / 2);
      // tanh² = 1 - 1/cosh², and D² - 1 alone has mean zero
      const double factor = s < 3 ? th * th : -1 / std::pow(std::cosh(s * D / std::sqrt(2.0)), 2);
      F += kStep * D * (1 + std::exp(-v)) * density * 0.5 * (D * D - 1) * factor;
    }
    F /= s * s;
    const SoftmaxStatistics m = table(s);
    EXPECT_NEAR(m.F, F, 2e-10 / std::max(1.0, s * s)) << s;
    EXPECT_NEAR(m.F, softmax_statistics(s, 2).F, 2e-10 / std::max(1.0, s * s)) << s;
    EXPECT_NEAR(m.F, 1 - m.P2 - 6 * m.P3 + 6 * m.P2P2, 2e-9) << s;
  }
}

}  // namespace
}  // namespace largo::softmax_table_test
