#include "largo/training/trajectory.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "largo/runtime/check.hpp"

namespace largo::trajectory_test {
namespace {

// The polynomial through its values at equal distances on each step; exact up to rounding.
template <typename Function>
Trajectory polynomial(std::initializer_list<double> times, Eigen::Index columns, const Function& f) {
  Trajectory path;
  for (const double t : times) {
    const double before = path.points().empty() ? t : path.end();
    Matrix values(1, t > before ? columns : 1);
    for (Eigen::Index i = 0; i < values.cols(); ++i) {
      const double share = values.cols() > 1 ? static_cast<double>(i) / static_cast<double>(columns - 1) : 1;
      values(0, i) = f(before + share * (t - before));
    }
    path.add({t, Vector::Constant(1, f(t)), 0, 0}, values);
  }
  return path;
}

Trajectory cubic(std::initializer_list<double> times) {
  return polynomial(times, 4, [](double t) { return t * t * t - t; });
}

Trajectory line(double slope, std::initializer_list<double> times) {
  return polynomial(times, 2, [slope](double t) { return slope * t; });
}

TEST(Trajectory, BetweenSteps) {
  const Trajectory path = cubic({0, 0.3, 1, 2.5});
  for (double t = 0; t <= 2.5; t += 0.01) EXPECT_NEAR(path.at(t)[0], t * t * t - t, 1e-13) << t;
  EXPECT_EQ(path.end(), 2.5);
}

// Powers of the times, and derivatives of the parameters, leave the range of doubles.
TEST(Trajectory, AnyUnitOfTime) {
  for (const double unit : {1e-200, 1e-100, 1e100, 1e200}) {
    const auto f = [unit](double t) { return std::pow(t / unit, 5) - t / unit; };
    const Trajectory path = polynomial({0, 0.4 * unit, 2 * unit}, 6, f);
    for (double t = 0; t <= 2; t += 0.05) EXPECT_NEAR(path.at(t * unit)[0], f(t * unit), 1e-12) << t;
  }
}

TEST(Trajectory, BeyondTheEnd) {
  const Trajectory path = cubic({0, 1, 2});
  EXPECT_EQ(path.at(7)[0], 6);
  EXPECT_EQ(path.at(std::numeric_limits<double>::infinity())[0], 6);
}

TEST(Trajectory, StepsOfOneValueAreStairs) {
  Trajectory path;
  for (const double t : {0.0, 1.0, 2.0})
    path.add({t, Vector::Constant(1, t), 0, 0}, Matrix::Constant(1, 1, t));
  EXPECT_EQ(path.at(0)[0], 0);
  EXPECT_EQ(path.at(0.99)[0], 0);
  EXPECT_EQ(path.at(1)[0], 1);
  EXPECT_EQ(path.at(1.5)[0], 1);
  EXPECT_EQ(path.at(2)[0], 2);
}

TEST(Trajectory, BadInput) {
  EXPECT_THROW(Trajectory().at(0), InputError);
  Trajectory path = cubic({0, 1});
  EXPECT_THROW(path.at(-1e-9), InputError);
  EXPECT_THROW(path.at(std::nan("")), InputError);
  EXPECT_THROW(path.add({1, Vector::Zero(1), 0, 0}, Matrix::Zero(1, 1)), InputError);
  EXPECT_THROW(path.add({2, Vector::Zero(1), 0, 0}, Matrix::Zero(2, 1)), InputError);
}

TEST(LargestDistance, AtStepsOfBothAndAtTheHorizon) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Trajectory fast = line(3, {0, 0.5, 2}), slow = line(1, {0, 0.8, 3});
  TrajectoryDistance largest = largest_distance(fast, slow, infinity);
  EXPECT_DOUBLE_EQ(largest.value, 4);  // at t = 2, where the fast one stops
  EXPECT_EQ(largest.time, 2);
  largest = largest_distance(fast, slow, 1.3);  // between steps
  EXPECT_DOUBLE_EQ(largest.value, 2.6);
  EXPECT_EQ(largest.time, 1.3);
  // t³ - t and 0: below 1 the distance is largest at 1/√3, a step of the second path only.
  const double peak = 1 / std::sqrt(3.0);
  largest = largest_distance(cubic({0, 1}), line(0, {0, peak, 1}), 1);
  EXPECT_NEAR(largest.value, 2 * peak / 3, 1e-15);
  EXPECT_EQ(largest.time, peak);
}

TEST(LargestDistance, WithAnyFunction) {
  const auto product = [](const Vector& x, const Vector& y) { return x[0] * y[0]; };
  const TrajectoryDistance largest = largest_distance(line(3, {0, 1}), line(2, {0, 2}), 5, product);
  EXPECT_DOUBLE_EQ(largest.value, 3 * 4);
  EXPECT_EQ(largest.time, 2);
}

}  // namespace
}  // namespace largo::trajectory_test
