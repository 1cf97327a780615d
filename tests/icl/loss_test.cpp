#include "largo/icl/loss.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr double kUlps = 8 * 2.3e-16;  // a few roundings, and exp and log to 2 ulp

TEST(Loss, SquaredIsHalfTheSquare) {
  const LossPoint point = squared_loss()->at(3, -1);
  EXPECT_EQ(point.value, 8);
  EXPECT_EQ(point.slope, 4);
}

// The reference is in long double, whose own expl and log1pl are 64-bit wide.
TEST(Loss, LogisticKeepsItsDigits) {
  for (const double label : {-1.0, 1.0}) {
    for (const double output : {0.0, 1e-300, 1e-9, 0.3, 1.0, 5.0, 30.0, 37.0, 50.0, 700.0}) {
      for (const double sign : {-1.0, 1.0}) {
        const double o = sign * output;
        const auto x = static_cast<long double>(-label * o);
        const long double value = x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
        const long double slope = -static_cast<long double>(label) / (1 + std::exp(-x));
        const LossPoint point = logistic_loss()->at(o, label);
        EXPECT_NEAR(point.value, static_cast<double>(value), kUlps * static_cast<double>(value)) << o;
        EXPECT_NEAR(point.slope, static_cast<double>(slope), kUlps * std::abs(static_cast<double>(slope)))
            << o;
      }
    }
  }
}

TEST(Loss, LogisticFarOut) {
  EXPECT_EQ(logistic_loss()->at(-1e300, 1).value, 1e300);
  EXPECT_EQ(logistic_loss()->at(-1e300, 1).slope, -1);
  EXPECT_EQ(logistic_loss()->at(1e300, 1).value, 0);
  EXPECT_EQ(logistic_loss()->at(1e300, 1).slope, 0);
}

TEST(Loss, LabelsAreSigns) {
  EXPECT_THROW(logistic_loss()->at(1, 0), InputError);
  EXPECT_THROW(logistic_loss()->at(1, NAN), InputError);
}

}  // namespace
}  // namespace largo
