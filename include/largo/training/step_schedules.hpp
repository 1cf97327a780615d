// Step sizes η_k of descent, k = 0, 1, .... Any function will do; these are the usual ones.
#pragma once

#include <cstdint>
#include <functional>

namespace largo {

using StepSchedule = std::function<double(std::int64_t step)>;

/// All schedules throw InputError unless sizes are positive and finite. Their values are bit-identical on
/// every machine.

/// η_k = η.
StepSchedule constant_steps(double size);

/// η_k = η/(1 + k/h): after h steps the size has halved. h > 0.
StepSchedule inverse_time_steps(double size, double half_after);

/// η_k = η_N + (η - η_N)(1 + cos(πk/N))/2 for k < N, and η_N from there on. N >= 1; η_N may be zero.
StepSchedule cosine_steps(double size, std::int64_t steps, double last_size = 0);

enum class Schedule : std::uint8_t { constant, inverse_time, cosine };

/// One of these schedules for `steps` steps; `size` is its first step. Inverse time halves it after a tenth
/// of them.
StepSchedule make_schedule(Schedule schedule, double size, std::int64_t steps);

/// η_0 + ... + η_{steps-1}, the time of the flow that as many steps follow; steps >= 1. Exact for up to 2^20
/// steps; beyond that, some steps stand for their neighbours.
double duration_of(const StepSchedule& size, std::int64_t steps);

}  // namespace largo
