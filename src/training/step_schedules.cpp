#include "largo/training/step_schedules.hpp"

#include <algorithm>
#include <span>

#include "largo/runtime/check.hpp"
#include "numerics/simd_math.hpp"

namespace largo {
namespace {

void check_size_of_step(const char* function, double size) {
  check_finite(function, "size", size);
  check_positive(function, "size", size);
}

}  // namespace

StepSchedule constant_steps(double size) {
  check_size_of_step("constant_steps", size);
  return [size](std::int64_t) { return size; };
}

StepSchedule inverse_time_steps(double size, double half_after) {
  check_size_of_step("inverse_time_steps", size);
  check_finite("inverse_time_steps", "half_after", half_after);
  check_positive("inverse_time_steps", "half_after", half_after);
  return
      [size, half_after](std::int64_t step) { return size / (1 + static_cast<double>(step) / half_after); };
}

StepSchedule cosine_steps(double size, std::int64_t steps, double last_size) {
  check_size_of_step("cosine_steps", size);
  if (steps < 1) fail("cosine_steps", "steps", static_cast<double>(steps), "at least 1");
  check_finite("cosine_steps", "last_size", last_size);
  check_nonnegative("cosine_steps", "last_size", last_size);
  return [=](std::int64_t step) {
    if (step >= steps) return last_size;
    const double turn = static_cast<double>(step) / static_cast<double>(steps);
    double sine = 0, cosine = 0;
    simd::sincospi(std::span(&turn, 1), std::span(&sine, 1), std::span(&cosine, 1));
    return last_size + (size - last_size) * (1 + cosine) / 2;
  };
}

StepSchedule make_schedule(Schedule schedule, double size, std::int64_t steps) {
  switch (schedule) {
    case Schedule::constant:
      return constant_steps(size);
    case Schedule::inverse_time:
      return inverse_time_steps(size, static_cast<double>(steps) / 10);
    case Schedule::cosine:
      return cosine_steps(size, steps);
  }
  return nullptr;
}

double duration_of(const StepSchedule& size, std::int64_t steps) {
  const std::int64_t blocks = std::min<std::int64_t>(steps, 1 << 20);
  const std::int64_t length = steps / blocks, longer = steps % blocks;
  double time = 0;
  for (std::int64_t i = 0, first = 0; i < blocks; ++i) {
    const std::int64_t here = length + (i < longer ? 1 : 0);
    time += static_cast<double>(here) * size(first + here / 2);
    first += here;
  }
  return time;
}

}  // namespace largo
