#include "largo/icl/loss.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "largo/runtime/check.hpp"

namespace largo::loss_test {
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

TEST(Loss, HuberIsSquaredThenLinear) {
  const LossPtr loss = huber_loss(2);
  EXPECT_EQ(loss->at(1.5, 0).value, 1.125);
  EXPECT_EQ(loss->at(1.5, 0).slope, 1.5);
  EXPECT_EQ(loss->at(-5, 0).value, 8);
  EXPECT_EQ(loss->at(-5, 0).slope, -2);
  EXPECT_EQ(loss->at(2, 0).value, 2);  // both forms meet
  EXPECT_TRUE(loss->is_smooth());
  for (const double delta : {0.0, -1.0, std::nan(""), HUGE_VAL}) EXPECT_THROW(huber_loss(delta), InputError);
}

TEST(Loss, AbsoluteHasNoSlopeAtZero) {
  EXPECT_EQ(absolute_loss()->at(-3, 1).value, 4);
  EXPECT_EQ(absolute_loss()->at(-3, 1).slope, -1);
  EXPECT_EQ(absolute_loss()->at(1, 1).slope, 0);
  EXPECT_FALSE(absolute_loss()->is_smooth());
}

TEST(Loss, RowsAreSumsOverCoordinates) {
  const RowMatrix outputs{{1, 2}, {3, -1}}, targets{{0, 2}, {1, 1}};
  const LossRows rows = squared_loss()->rows(outputs, targets);
  EXPECT_EQ(rows.values, (Vector{{0.5, 4}}));
  EXPECT_EQ(rows.slopes, (RowMatrix{{1, 0}, {2, -2}}));
  EXPECT_THROW(squared_loss()->rows(outputs, targets.leftCols(1)), InputError);
}

TEST(Loss, Names) {
  EXPECT_EQ(named_loss("huber:0.5")->at(1, 0).value, 0.375);
  EXPECT_EQ(named_loss("squared")->quadratic_factor(), 0.5);
  EXPECT_FALSE(named_loss("logistic")->quadratic_factor());
  for (const char* name : {"", "hubert", "huber", "huber:", "huber:0", "huber:-1", "huber:nan", "huber:1x"}) {
    EXPECT_THROW(named_loss(name), InputError) << name;
  }
}

TEST(Loss, LabelsAreSigns) {
  EXPECT_THROW(logistic_loss()->at(1, 0), InputError);
  EXPECT_THROW(logistic_loss()->at(1, NAN), InputError);
}

}  // namespace
}  // namespace largo::loss_test
