// sphere_tilt() against the power series of the Bessel function in 100 digits.
#include "numerics/sphere_functions.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "largo/runtime/check.hpp"
#include "measures/oracle.hpp"

namespace largo::sphere_functions_test {
namespace {

constexpr double kCard = 1e-12;  // promised by the card of sphere_tilt: relative, for each field

constexpr double kOrders[] = {1, 2, 3, 4, 5, 7.5, 10, 33, 100, 1000, 1e4};
constexpr double kArguments[] = {0, 1e-8, 1e-3, 0.1, 0.5, 1, 2, 5, 10, 30, 100, 300, 1e3, 1e4};

/// The absolute error where the reference is zero (at x = 0, or where it underflows), else the relative one.
double relative_error(double value, double reference) {
  return reference == 0 ? std::abs(value) : std::abs(value - reference) / std::abs(reference);
}

void expect_as_in_the_series(double n, double x) {
  SCOPED_TRACE(::testing::Message() << "n = " << n << ", x = " << x);
  const numerics::SphereTilt tilt = numerics::sphere_tilt(n, x);
  const test::SphereReference exact = test::sphere_reference(n, x);
  EXPECT_LE(relative_error(tilt.value, exact.value), kCard);
  EXPECT_LE(relative_error(tilt.derivative, exact.derivative), kCard);
  EXPECT_LE(relative_error(tilt.second_derivative, exact.second_derivative), kCard);
  EXPECT_LE(relative_error(tilt.derivative_over_x, exact.derivative_over_x), kCard);
}

TEST(SphereFunctions, EachFieldMatchesTheSeries) {
  for (const double n : kOrders) {
    for (const double x : kArguments) expect_as_in_the_series(n, x);
  }
}

TEST(SphereFunctions, BothSidesOfEachChangeOfMethod) {
  for (const double n : {1.5, 2.0, 3.0, 7.5, 10.0, 33.0}) {
    const double far = 2 * n * n + 50;  // the series in 1/x begins here
    for (const double x : {far * (1 - 1e-9), far * (1 + 1e-9), 599.0, 601.0, std::sqrt(1200 * n) * 1.001}) {
      expect_as_in_the_series(n, x);
    }
  }
}

TEST(SphereFunctions, TanhAndLangevin) {
  for (const double x : {0.3, 1.0, 3.0, 12.0}) {
    EXPECT_LE(relative_error(numerics::sphere_tilt(1, x).derivative, std::tanh(x)), kCard);
    // coth x - 1/x loses only one digit to cancellation at x = 0.3.
    EXPECT_LE(relative_error(numerics::sphere_tilt(3, x).derivative, 1 / std::tanh(x) - 1 / x), kCard);
  }
}

TEST(SphereFunctions, HugeArgumentsStayFinite) {
  for (const double n : {1.0, 2.0, 33.0, 1e4}) {
    const numerics::SphereTilt tilt = numerics::sphere_tilt(n, 1e12);
    EXPECT_TRUE(std::isfinite(tilt.value));
    EXPECT_GT(tilt.value, 0.999e12);
    EXPECT_LE(tilt.derivative, 1);
    EXPECT_GE(tilt.derivative, 1 - 1e-8);
  }
  EXPECT_EQ(numerics::sphere_tilt(5, 1e-200).derivative_over_x, 0.2);
}

TEST(SphereFunctions, RefusesWhatIsOutsideTheDomain) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(numerics::sphere_tilt(0.5, 1), InputError);
  EXPECT_THROW(numerics::sphere_tilt(kNan, 1), InputError);
  EXPECT_THROW(numerics::sphere_tilt(3, -1), InputError);
  EXPECT_THROW(numerics::sphere_tilt(3, kNan), InputError);
  EXPECT_THROW(numerics::sphere_tilt(3, std::numeric_limits<double>::infinity()), InputError);
}

}  // namespace
}  // namespace largo::sphere_functions_test
