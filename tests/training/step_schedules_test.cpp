#include "largo/training/stochastic_descent.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "largo/runtime/check.hpp"

namespace largo::step_schedules_test {
namespace {

TEST(StepSchedules, HaveTheirFormulas) {
  EXPECT_EQ(constant_steps(0.3)(1000), 0.3);
  EXPECT_EQ(inverse_time_steps(0.3, 50)(0), 0.3);
  EXPECT_DOUBLE_EQ(inverse_time_steps(0.3, 50)(50), 0.15);
  EXPECT_DOUBLE_EQ(inverse_time_steps(0.3, 50)(150), 0.075);
  const StepSchedule cosine = cosine_steps(0.3, 100, 0.1);
  for (std::int64_t k = 0; k < 100; ++k) {
    const double angle = std::numbers::pi * static_cast<double>(k) / 100;
    EXPECT_NEAR(cosine(k), 0.1 + 0.1 * (1 + std::cos(angle)), 1e-15) << k;
  }
  EXPECT_EQ(cosine(100), 0.1);
  EXPECT_EQ(cosine(1000), 0.1);
  EXPECT_THROW(constant_steps(0), InputError);
  EXPECT_THROW(constant_steps(INFINITY), InputError);
  EXPECT_THROW(inverse_time_steps(1, 0), InputError);
  EXPECT_THROW(cosine_steps(1, 0), InputError);
  EXPECT_THROW(cosine_steps(1, 10, -1), InputError);
}

TEST(StepSchedules, DurationIsTheSumOfTheSizes) {
  const StepSchedule size = inverse_time_steps(0.3, 100);
  double sum = 0;
  for (std::int64_t step = 0; step < 1000; ++step) sum += size(step);
  EXPECT_NEAR(duration_of(size, 1000), sum, 1e-12 * sum);
  // Sizes change by a factor of 2 over 3e6 steps: the middle of three represents them to second order.
  EXPECT_NEAR(duration_of(inverse_time_steps(1, 3e6), 3'000'000), 3e6 * std::log(2.0), 1);
}

}  // namespace
}  // namespace largo::step_schedules_test
