#include "largo/exact/power_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"

namespace largo::power_sums_test {
namespace {

using Real = boost::multiprecision::cpp_bin_float_50;

Estimate moment(const std::vector<int>& parts, double s, double L) { return power_sum_moment(parts, s, L); }

// E over g1, g2 of a product of power sums of both weights, by Simpson's rule in the difference g1 - g2.
double two_token_moment(const std::vector<int>& parts, double s) {
  constexpr int kPanels = 40000;
  constexpr double kEnd = 12;
  double sum = 0;
  for (int i = 0; i <= kPanels; ++i) {
    const double u = -kEnd + 2 * kEnd * i / kPanels;
    const double weight = (i == 0 || i == kPanels ? 1 : i % 2 == 1 ? 4 : 2) * 2 * kEnd / kPanels / 3;
    const double p = 1 / (1 + std::exp(-std::numbers::sqrt2 * s * u));
    double product = std::exp(-0.5 * u * u) / std::sqrt(2 * std::numbers::pi);
    for (const int k : parts) product *= std::pow(p, k) + std::pow(1 - p, k);
    sum += weight * product;
  }
  return sum;
}

TEST(PowerSums, TwoTokensForManyParts) {
  const std::vector<std::vector<int>> lists = {{2},    {5},       {2, 2},       {2, 3}, {2, 2, 2},
                                               {3, 3}, {2, 2, 3}, {2, 2, 2, 2}, {12},   {2, 4, 6}};
  for (const auto& parts : lists) {
    for (const double s : {0.2, 1.0, 3.0}) {
      const Estimate result = moment(parts, s, 2);
      const double truth = two_token_moment(parts, s);
      EXPECT_NEAR(result.value, truth, 1e-11 * truth) << "first part " << parts[0] << ", s = " << s;
      EXPECT_LE(std::abs(result.value - truth), result.error + 1e-13 * truth);
    }
  }
}

TEST(PowerSums, AgreeWithSoftmaxMoments) {
  const SoftmaxMoments m = softmax_moments(2, 1e4);
  EXPECT_NEAR(moment({2}, 2, 1e4).value, m.P2.value, 1e-13 * m.P2.value);
  EXPECT_NEAR(moment({2, 2}, 2, 1e4).value, m.P2P2.value, 1e-13 * m.P2P2.value);
  for (const double s : {0.0, 0.4, 7.0}) {
    for (const double L : {1.0, 33.0, 1e30}) {
      const PowerSumMoments three = power_sum_moments(s, L);
      EXPECT_NEAR(three.P2.value, moment({2}, s, L).value, 1e-13 * three.P2.value);
      EXPECT_NEAR(three.P3.value, moment({3}, s, L).value, 1e-13 * three.P3.value);
      EXPECT_NEAR(three.P2P2.value, moment({2, 2}, s, L).value, 1e-13 * three.P2P2.value);
    }
  }
  // Ones are P_1 = 1 and change nothing.
  EXPECT_EQ(moment({1, 2, 1, 1}, 2, 1e4).value, moment({2}, 2, 1e4).value);
}

// P_2² <= P_3 <= P_2 <= 1 hold for any weights, and so for the expectations.
TEST(PowerSums, InequalitiesOfWeights) {
  for (const double s : {0.1, 2.0, 9.0, 28.0}) {
    for (const double L : {1.5, 40.0, 1e15, 1e140}) {
      const double p2 = moment({2}, s, L).value;
      const double p3 = moment({3}, s, L).value;
      EXPECT_LE(moment({2, 2}, s, L).value, p3 * (1 + 1e-12)) << s << " " << L;
      EXPECT_LE(p3, p2 * (1 + 1e-12)) << s << " " << L;
      EXPECT_GE(p2, 1 / L * (1 - 1e-12)) << s << " " << L;
      EXPECT_LE(p2, 1 + 1e-12) << s << " " << L;
    }
  }
}

TEST(PowerSums, ClosedCases) {
  EXPECT_EQ(moment({1}, 3, 17).value, 1);
  EXPECT_EQ(moment({4, 2}, 3, 1).value, 1);
  EXPECT_NEAR(moment({4, 2}, 0, 10).value, 1e-4, 1e-19);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(moment({1, 1}, 3, kInfinity).value, 1);
  EXPECT_EQ(moment({2, 1}, 3, kInfinity).value, 0);
  EXPECT_EQ(power_sum_moments(3, kInfinity).P2P2.value, 0);
}

TEST(PowerSums, RefuseBadInput) {
  EXPECT_THROW(moment({}, 1, 10), InputError);
  EXPECT_THROW(moment({0}, 1, 10), InputError);
  EXPECT_THROW(moment({2, -1}, 1, 10), InputError);
  EXPECT_THROW(moment({25}, 1, 10), InputError);
  EXPECT_THROW(moment({2, 2, 2, 2, 2, 2, 2, 2, 2}, 1, 10), InputError);
  EXPECT_THROW(moment({2}, -1, 10), InputError);
  EXPECT_THROW(moment({2}, 1, 0.5), InputError);
  EXPECT_THROW(moment({2}, std::numeric_limits<double>::quiet_NaN(), 2), InputError);
}

// log φ_0 in 50 digits by Gauss-Kronrod panels, through 1 - φ_0 where that is small.
Real reference_log_laplace(double log_t, double s) {
  using boost::math::quadrature::gauss_kronrod;
  const Real t = exp(Real(log_t));
  const bool small = log_t < 0;
  auto integrand = [&](const Real& g) -> Real {
    const Real v = t * exp(Real(s) * g);
    const Real value = small ? Real(-boost::multiprecision::expm1(Real(-v))) : Real(exp(-v));
    return exp(-g * g / 2) * value;
  };
  Real sum = 0;
  for (double left = -30; left < 30; left += 0.5) {
    sum += gauss_kronrod<Real, 31>::integrate(integrand, Real(left), Real(left + 0.5), 0);
  }
  sum /= sqrt(2 * boost::math::constants::pi<Real>());
  return small ? Real(boost::multiprecision::log1p(Real(-sum))) : Real(log(sum));
}

TEST(LogLognormalLaplace, BothTailsToFullRelativeAccuracy) {
  for (const double s : {0.01, 0.3, 1.0, 4.0}) {
    for (const double log_t : {-80.0, -20.0, -3.0, -0.1, 0.0, 0.5, 2.0, 5.0}) {
      const Real truth = reference_log_laplace(log_t, s);
      const double value = log_lognormal_laplace(log_t, s);
      EXPECT_LE(static_cast<double>(abs((Real(value) - truth) / truth)), 1e-13)
          << "s " << s << " log_t " << log_t;
    }
  }
}

TEST(LogLognormalLaplace, SmallSpreads) {
  EXPECT_EQ(log_lognormal_laplace(1, 1e-200), -std::exp(1.0));
  EXPECT_EQ(log_lognormal_laplace(-1, 1e-100), -std::exp(-1.0));
  // Laplace's method: -t + s²t²/2 - s²t/2, up to terms of the order (s²t)² t.
  const double t = std::exp(20.0), s = 1e-6;
  const double expected = -t + 0.5 * s * s * t * t - 0.5 * s * s * t;
  EXPECT_NEAR(log_lognormal_laplace(20, s) / expected, 1, 1e-6);
  for (const double log_t : {10.0, 30.0, 34.0}) {
    for (const double spread : {1e-12, 1e-8, 1e-6, 1e-3}) {
      const double value = log_lognormal_laplace(log_t, spread);
      EXPECT_TRUE(std::isfinite(value) && value < 0) << log_t << " " << spread;
    }
  }
  EXPECT_THROW(log_lognormal_laplace(35, 0.2), InputError);
  EXPECT_TRUE(std::isfinite(log_lognormal_laplace(700, 0.25)));
  EXPECT_NEAR(power_sum_moments(1e-200, 1000).P2.value, 1e-3, 1e-15);
}

TEST(LogLognormalLaplace, EdgeValues) {
  EXPECT_EQ(log_lognormal_laplace(-3, 0), -std::exp(-3));
  EXPECT_THROW(log_lognormal_laplace(701, 1), InputError);
  EXPECT_THROW(log_lognormal_laplace(0, -1), InputError);
  EXPECT_THROW(log_lognormal_laplace(std::numeric_limits<double>::quiet_NaN(), 1), InputError);
  double before = 0;
  for (double log_t = -690; log_t <= 700; log_t += 10) {  // decreasing, finite
    const double value = log_lognormal_laplace(log_t, 3);
    EXPECT_LT(value, before) << log_t;
    EXPECT_TRUE(std::isfinite(value)) << log_t;
    before = value;
  }
}

}  // namespace
}  // namespace largo::power_sums_test
