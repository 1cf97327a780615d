#include "largo/exact/softmax_moments.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "exact/oracle.hpp"
#include "largo/exact/power_sums.hpp"
#include "largo/io/npy.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"

namespace largo::softmax_moments_test {
namespace {

// The promise of the engine; the largest error seen is 2e-12.
constexpr double kBar = 1e-10;
// For cases with a closed form.
constexpr double kExact = 1e-12;
// References below this have lost digits to gradual underflow, or are zero.
constexpr double kSmallestNormal = 1e-300;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::ptrdiff_t kEveryRow = 16;  // the sanitizers are slow, and the numbers are the same
#else
constexpr std::ptrdiff_t kEveryRow = 1;
#endif

constexpr std::array kNames = {"P2",          "P3",       "P2P2",           "mean",
                               "mse",         "variance", "squared_spread", "variance_mse",
                               "variance_P2", "P2_slope", "P3_slope",       "P2P2_slope"};

// In the order of the columns of the reference.
std::array<Estimate, 12> columns(const SoftmaxMoments& m) {
  return {m.P2,           m.P3,          m.P2P2,     m.mean,     m.mse,       m.variance, m.squared_spread,
          m.variance_mse, m.variance_P2, m.P2_slope, m.P3_slope, m.P2P2_slope};
}

TEST(SoftmaxMoments, AgreeWithFortyDigitsWithinTheirEstimates) {
  const Matrix reference = NpyArray::open(LARGO_TEST_DATA "/softmax_moments.npy").matrix();
  ASSERT_EQ(reference.cols(), 14);
  ASSERT_GE(reference.rows(), 10000);
  std::array<double, 12> worst{};
  int failures = 0;
  for (std::ptrdiff_t row = 0; row < reference.rows() && failures < 20; row += kEveryRow) {
    const double s = reference(row, 0);
    const double L = reference(row, 1);
    const SoftmaxMoments m = softmax_moments(s, L);
    const auto values = columns(m);
    EXPECT_LE(std::abs(m.self_check), 1e-11) << "s = " << s << ", L = " << L;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double truth = reference(row, static_cast<std::ptrdiff_t>(i) + 2);
      const double error = std::abs(values[i].value - truth);
      if (std::abs(truth) < kSmallestNormal) {
        // The truth is zero (L = 1 or s = 0), and the value is of the size of its error; or it is below the
        // range of a double.
        if (!(error <= std::max(values[i].error, 1e-14 * std::abs(values[0].value)))) ++failures;
        EXPECT_LE(error, std::max(values[i].error, 1e-14 * std::abs(values[0].value)))
            << kNames[i] << " at s = " << s << ", L = " << L;
        continue;
      }
      worst[i] = std::max(worst[i], error / std::abs(truth));
      const double rounding = std::numeric_limits<double>::epsilon() * std::abs(truth);
      const bool good = error <= kBar * std::abs(truth) && error <= values[i].error + rounding;
      if (!good) ++failures;
      EXPECT_TRUE(good) << kNames[i] << " at s = " << s << ", L = " << L << ": " << values[i].value
                        << " with error " << error << ", estimated " << values[i].error;
    }
  }
  for (std::size_t i = 0; i < worst.size(); ++i) RecordProperty(kNames[i], std::to_string(worst[i]));
}

// Statistics that vanish at L = 1 do so like L - 1, and would lose their digits if computed from 1 - 1/L. The
// stored reference has no such lengths.
TEST(SoftmaxMoments, NextToOneToken) {
  oracle::Oracle reference(2);
  for (const double L : {1.000001, 1.0003, 1.02}) {
    const auto truth = reference.at(L).values();
    const auto values = columns(softmax_moments(2, L));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto expected = truth[i].convert_to<double>();
      EXPECT_LE(std::abs(values[i].value - expected), values[i].error + 1e-15 * std::abs(expected))
          << kNames[i] << " at L = " << L;
    }
  }
}

TEST(SoftmaxMoments, PrintedCheckValues) {
  struct Case {
    double s, L, P2, P3, P2P2;
  };
  for (const Case& c : {Case{0.5, 8, 1.528459884241e-01, 2.795282094729e-02, 2.369892089061e-02},
                        Case{2, 1e4, 4.507451445755e-03, 2.885422841096e-04, 7.680232016192e-05},
                        Case{6, 1e12, 2.125498090828e-02, 8.042446695597e-03, 4.743338805281e-03}}) {
    const SoftmaxMoments m = softmax_moments(c.s, c.L);
    EXPECT_NEAR(m.P2.value, c.P2, kExact * c.P2);
    EXPECT_NEAR(m.P3.value, c.P3, kExact * c.P3);
    EXPECT_NEAR(m.P2P2.value, c.P2P2, kExact * c.P2P2);
  }
}

TEST(SoftmaxMoments, OneToken) {
  for (const double s : {0.0, 1e-9, 0.3, 2.0, 30.0, 1e4}) {
    const SoftmaxMoments m = softmax_moments(s, 1);
    for (const Estimate& one : {m.P2, m.P3, m.P2P2}) EXPECT_NEAR(one.value, 1, kExact) << s;
    EXPECT_NEAR(m.mse.value, 1 + s * s, kExact * (1 + s * s)) << s;
    EXPECT_NEAR(m.bias.value, -s, kExact * (1 + s)) << s;
    EXPECT_NEAR(m.variance_mse.value, 1, kExact) << s;
    EXPECT_NEAR(m.variance_P2.value, -1, kExact) << s;
    for (const Estimate& zero :
         {m.mean, m.variance, m.squared_spread, m.P2_slope, m.P3_slope, m.P2P2_slope}) {
      EXPECT_NEAR(zero.value, 0, kExact) << s;
    }
  }
}

// The difference of two scores decides: p_1 = 1/(1 + e^{-√2 s u}) with u ~ N(0,1), and given u the sum of the
// scores is an independent normal. The reference is Simpson's rule in u.
TEST(SoftmaxMoments, TwoTokensByDirectQuadrature) {
  for (const double s : {0.1, 0.7, 1.0, 2.0, 5.0}) {
    double P2 = 0, P3 = 0, P2P2 = 0, mean = 0, mse = 0, D = 0, variance_mse = 0;
    constexpr int kPanels = 40000;
    constexpr double kEnd = 12;
    for (int i = 0; i <= kPanels; ++i) {
      const double u = -kEnd + 2 * kEnd * i / kPanels;
      const double weight = (i == 0 || i == kPanels ? 1
                             : i % 2 == 1           ? 4
                                                    : 2) *
                            2 * kEnd / kPanels / 3 * std::exp(-0.5 * u * u) / std::sqrt(2 * std::numbers::pi);
      const double p = 1 / (1 + std::exp(-std::numbers::sqrt2 * s * u));
      const double q = 1 / (1 + std::exp(std::numbers::sqrt2 * s * u));
      const double gap = std::numbers::sqrt2 * u;  // g_1 - g_2
      const double A = 0.5 * gap * (p - q);        // plus an independent N(0, 1/2)
      P2 += weight * (p * p + q * q);
      P3 += weight * (p * p * p + q * q * q);
      P2P2 += weight * std::pow(p * p + q * q, 2);
      mean += weight * A;
      mse += weight * (0.5 + (A - s) * (A - s));
      D += weight * 2 * p * p * q * q * gap * gap;
      variance_mse += weight * std::pow(p * q * gap * gap - 1, 2);
    }
    const SoftmaxMoments m = softmax_moments(s, 2);
    EXPECT_NEAR(m.P2.value, P2, kExact) << s;
    EXPECT_NEAR(m.P3.value, P3, kExact) << s;
    EXPECT_NEAR(m.P2P2.value, P2P2, kExact) << s;
    EXPECT_NEAR(m.mean.value, mean, kExact) << s;
    EXPECT_NEAR(m.mse.value, mse, kExact * mse) << s;
    EXPECT_NEAR(m.squared_spread.value, D, kExact) << s;
    EXPECT_NEAR(m.variance_mse.value, variance_mse, kExact) << s;
  }
}

// E[A] and the slopes are linear in s, and the rest is quadratic.
TEST(SoftmaxMoments, EqualWeightsAreTheLimitOfSmallS) {
  for (const double s : {1e-9, 1e-200, std::numeric_limits<double>::denorm_min()}) {
    for (const double L : {1.0, 2.0, 7.5, 1e6, 1e100}) {
      const auto zero = columns(softmax_moments(0, L));
      const auto tiny = columns(softmax_moments(s, L));
      for (std::size_t i = 0; i < zero.size(); ++i) {
        const double linear = zero[i].value == 0 ? 2.1 * s : 0;
        EXPECT_NEAR(tiny[i].value, zero[i].value, kExact * std::abs(zero[i].value) + linear)
            << kNames[i] << ", L = " << L << ", s = " << s;
      }
    }
  }
}

// E[A] tends to the largest of L normals: closed forms for L = 2, 3, with corrections of order 1/s².
TEST(SoftmaxMoments, ExpectedMaximumForLargeS) {
  EXPECT_NEAR(softmax_moments(1e6, 2).mean.value, 1 / std::sqrt(std::numbers::pi), kExact);
  EXPECT_NEAR(softmax_moments(1e6, 3).mean.value, 1.5 / std::sqrt(std::numbers::pi), kExact);
  EXPECT_NEAR(softmax_moments(1e6, 1).mean.value, 0, kExact);
}

// The centring changes at s = √(2 ln L), where both ways give the same numbers.
TEST(SoftmaxMoments, ContinuousAcrossTheCondensationLine) {
  for (const double L : {3.0, 1e3, 1e20, 1e200}) {
    const double s = std::sqrt(2 * std::log(L));
    const auto below = columns(softmax_moments(s * (1 - 1e-14), L));
    const auto above = columns(softmax_moments(s * (1 + 1e-14), L));
    for (std::size_t i = 0; i < below.size(); ++i) {
      EXPECT_NEAR(below[i].value, above[i].value, 1e-10 * std::abs(above[i].value))
          << kNames[i] << ", L = " << L;
    }
  }
}

TEST(SoftmaxMoments, SlopesAreDerivatives) {
  for (const double s : {0.5, 1.5, 4.0, 12.0}) {
    for (const double L : {2.5, 1e4, 1e30}) {
      const double h = 1e-3;
      auto difference = [&](Estimate SoftmaxMoments::*field) {
        auto f = [&](double x) { return (softmax_moments(x, L).*field).value; };
        return (8 * (f(s + h) - f(s - h)) - (f(s + 2 * h) - f(s - 2 * h))) / (12 * h);
      };
      const SoftmaxMoments m = softmax_moments(s, L);
      // Differences of fourth order: the error is h⁴ times a fifth derivative of relative size up to s⁵.
      EXPECT_NEAR(m.P2_slope.value, difference(&SoftmaxMoments::P2), 1e-6 * m.P2_slope.value)
          << s << " " << L;
      EXPECT_NEAR(m.P3_slope.value, difference(&SoftmaxMoments::P3), 1e-6 * m.P3_slope.value)
          << s << " " << L;
      EXPECT_NEAR(m.P2P2_slope.value, difference(&SoftmaxMoments::P2P2), 1e-6 * m.P2P2_slope.value)
          << s << " " << L;
    }
  }
}

TEST(SoftmaxMoments, SameBitsAtEverySimdLevel) {
  const std::string level(simd_level());
  // (7.3, 1e8) has a node between the two series of the complement where the lanes of SSE4 end.
  for (const double L : {2.0, 37.0, 1e3, 1e5, 1e8, 1e12}) {
    for (const double s : {0.3, 1.1, 2.5, 7.3}) {
      force_simd_level(level);
      const auto expected = columns(softmax_moments(s, L));
      for (const std::string& other : simd_levels()) {
        force_simd_level(other);
        const auto values = columns(softmax_moments(s, L));
        for (std::size_t i = 0; i < values.size(); ++i) {
          EXPECT_EQ(values[i].value, expected[i].value)
              << kNames[i] << " at " << other << ", s " << s << ", L " << L;
        }
      }
    }
  }
  force_simd_level(level);
}

TEST(SoftmaxMoments, InfinitePromptsAreTheLimit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double s : {0.0, 2.0, 1e6}) {
    const SoftmaxMoments m = softmax_moments(s, kInfinity);
    EXPECT_EQ(m.mean.value, s);
    EXPECT_EQ(m.variance.value, 1);
    for (const Estimate& zero : {m.P2, m.P3, m.P2P2, m.bias, m.mse, m.variance_mse, m.variance_P2,
                                 m.squared_spread, m.P2_slope, m.P3_slope, m.P2P2_slope}) {
      EXPECT_EQ(zero.value, 0);
      EXPECT_EQ(zero.error, 0);
    }
  }
  const SoftmaxMoments long_prompt = softmax_moments(2, 1e250);
  EXPECT_NEAR(long_prompt.mean.value, 2, 1e-14);
  EXPECT_NEAR(long_prompt.variance.value, 1, 1e-14);
}

TEST(SoftmaxMoments, RefusesWhatIsOutsideItsDomain) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double s : {-1e-300, -1.0, kNaN, kInfinity, 1.1e6}) {
    EXPECT_THROW(softmax_moments(s, 10), InputError) << s;
  }
  for (const double L : {0.999, 0.0, -5.0, kNaN, -kInfinity, 1.1e300}) {
    EXPECT_THROW(softmax_moments(1, L), InputError) << L;
  }
}

}  // namespace
}  // namespace largo::softmax_moments_test
