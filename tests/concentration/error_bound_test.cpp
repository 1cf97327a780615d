#include "largo/concentration/error_bound.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "concentration/log_slope.hpp"
#include "largo/runtime/check.hpp"

namespace largo::error_bound_test {
namespace {

std::vector<BoundPoint> on_the_bound(const BoundShape& shape, const BoundConstants& constants) {
  std::vector<BoundPoint> points;
  for (const double sigma : {0.7, 1.0, 2.5}) {
    for (const double L : {2.0, 10.0, 1e4, 1e9}) {
      points.push_back({sigma, L, bound_value(shape, constants, sigma, L), 0});
    }
  }
  return points;
}

TEST(ErrorBound, IsWhatThePaperSays) {
  EXPECT_NEAR(bound_value(kOutputBound, {3, 0.5}, 2, 100), 3 * 64 * std::log(100.0) / std::pow(100, 0.125),
              1e-10);
  EXPECT_NEAR(bound_value(kGradientUBound, {3, 0.5}, 2, 100),
              3 * 4096 * std::pow(std::log(100.0), 2) / std::pow(100, 0.125), 1e-7);
}

TEST(ErrorBound, FitRecoversTheConstants) {
  for (const BoundShape& shape : {kOutputBound, kGradientUBound}) {
    const auto points = on_the_bound(shape, {4.2, 0.31});
    const auto fit = fit_bound(shape, points);
    ASSERT_TRUE(fit.has_value());
    EXPECT_NEAR(fit->c1, 4.2, 1e-9);
    EXPECT_NEAR(fit->c2, 0.31, 1e-11);
    EXPECT_TRUE(check_bound(shape, *fit, points).holds);
  }
}

// A c1 that is too small is violated by 1 % at every point, and then at one point alone.
TEST(ErrorBound, TooSmallConstantsFail) {
  auto points = on_the_bound(kOutputBound, {4.2, 0.31});
  EXPECT_TRUE(check_bound(kOutputBound, {4.2, 0.31}, points).holds);
  EXPECT_FALSE(check_bound(kOutputBound, {4.2 / 1.01, 0.31}, points).holds);
  EXPECT_TRUE(check_bound(kOutputBound, {4.2 * 1.01, 0.31}, points).holds);
  points[5].error *= 1.02;
  const BoundVerdict verdict = check_bound(kOutputBound, {4.2 * 1.01, 0.31}, points);
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.worst.sigma, points[5].sigma);
  EXPECT_EQ(verdict.worst.L, points[5].L);
  EXPECT_NEAR(verdict.worst_ratio, 1.02 / 1.01, 1e-9);
  // An error that exceeds the bound by less than its uncertainty does not violate it.
  points[5].uncertainty = 0.05 * points[5].error;
  EXPECT_TRUE(check_bound(kOutputBound, {4.2 * 1.01, 0.31}, points).holds);
}

// Any other line above all points has a larger mean distance to them.
TEST(ErrorBound, FitIsTheSmallest) {
  auto points = on_the_bound(kOutputBound, {1, 0.4});
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].error *= std::exp(std::sin(7.0 * static_cast<double>(i)));
  const auto fit = fit_bound(kOutputBound, points);
  ASSERT_TRUE(fit.has_value());
  EXPECT_TRUE(check_bound(kOutputBound, *fit, points).holds);
  const auto gap = [&](double c2) {  // with the smallest c1 for this c2
    double c1 = 0, sum = 0;
    for (const BoundPoint& p : points)
      c1 = std::max(c1, p.error / bound_value(kOutputBound, {1, c2}, p.sigma, p.L));
    for (const BoundPoint& p : points)
      sum += std::log(bound_value(kOutputBound, {c1, c2}, p.sigma, p.L) / p.error);
    return sum;
  };
  for (double c2 = 0; c2 < 1; c2 += 0.001) EXPECT_GE(gap(c2), gap(fit->c2) - 1e-9) << c2;
}

TEST(ErrorBound, LooksAtTwoTokensAndMore) {
  std::vector<BoundPoint> points = on_the_bound(kOutputBound, {1, 0.4});
  points.push_back({1, 1, 1e6, 0});
  points.push_back({1, std::numeric_limits<double>::infinity(), 0, 0});
  const auto fit = fit_bound(kOutputBound, points);
  EXPECT_NEAR(fit->c1, 1, 1e-9);
  const BoundVerdict verdict = check_bound(kOutputBound, *fit, points);
  EXPECT_TRUE(verdict.holds);
  EXPECT_EQ(verdict.points, points.size() - 2);
  EXPECT_THROW(bound_value(kOutputBound, *fit, 1, 1), InputError);
}

TEST(ErrorBound, FitKeepsToTheLargestC2) {
  const auto points = on_the_bound(kOutputBound, {1, 0.4});
  const auto fit = fit_bound(kOutputBound, points, 0.3);
  EXPECT_EQ(fit->c2, 0.3);
  const BoundVerdict verdict = check_bound(kOutputBound, *fit, points);
  EXPECT_TRUE(verdict.holds);
  EXPECT_NEAR(verdict.worst_ratio, 1, 1e-9);
}

TEST(ErrorBound, BeyondTheRangeOfNumbers) {
  const auto points = on_the_bound(kOutputBound, {1, 0.4});
  const BoundVerdict verdict = check_bound(kOutputBound, {1e-300, 1000}, points);
  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(verdict.worst_ratio, std::numeric_limits<double>::max());
  const std::vector<BoundPoint> tiny = {{1e-60, 2, 1, 0}, {1e-60, 10, 0.5, 0}};
  EXPECT_FALSE(fit_bound(kOutputBound, tiny).has_value());
}

TEST(ErrorBound, ErrorsThatGrowGetNoDecay) {
  const std::vector<BoundPoint> points = {{1, 2, 1e-3, 0}, {1, 10, 1, 0}, {1, 100, 50, 0}};
  EXPECT_EQ(fit_bound(kOutputBound, points)->c2, 0);
  EXPECT_FALSE(fit_bound(kOutputBound, std::vector<BoundPoint>{{1, 2, 1, 0}}).has_value());
}

TEST(LogSlope, OfPowersIsTheirExponent) {
  std::vector<concentration::CurvePoint> points;
  for (const double x : {2.0, 30.0, 500.0, 1e6}) points.push_back({x, 5 * std::pow(x, -0.7), 0});
  EXPECT_NEAR(concentration::log_slope(points)->value, -0.7, 1e-12);
  EXPECT_NEAR(concentration::log_slope(points)->error, 0, 1e-12);
  points.push_back({std::numeric_limits<double>::infinity(), 0, 0});
  EXPECT_NEAR(concentration::log_slope(points)->value, -0.7, 1e-12);
  EXPECT_FALSE(concentration::log_slope(std::vector<concentration::CurvePoint>{{2, 1, 0}}).has_value());
}

// Three points at ln x = 0, 1, 2: the slope is half the difference of the outer ones, whatever their errors.
TEST(LogSlope, PropagatesErrors) {
  const std::vector<concentration::CurvePoint> points = {
      {1, 1, 0.03}, {std::exp(1.0), 5, 0.5}, {std::exp(2.0), 2, 0.08}};
  EXPECT_NEAR(concentration::log_slope(points)->value, std::log(2.0) / 2, 1e-12);
  EXPECT_NEAR(concentration::log_slope(points)->error, 0.025, 1e-12);
}

}  // namespace
}  // namespace largo::error_bound_test
