#include "largo/training/stochastic_descent.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"
#include "numerics/simd_math.hpp"
#include "runtime/distribute.hpp"
#include "training/first_batches.hpp"

namespace largo {
namespace {

constexpr const char* kDescend = "descend";
constexpr std::int64_t kProgressCalls = 200;

void check_options(const DescentOptions& options) {
  if (!options.step_size) fail(kDescend, "there is no step_size");
  if (options.steps < 0) fail(kDescend, "steps", static_cast<double>(options.steps), "at least 0");
  if (options.record_every < 0) {
    fail(kDescend, "record_every", static_cast<double>(options.record_every), "at least 0");
  }
  if (options.checkpoint_every < 0) {
    fail(kDescend, "checkpoint_every", static_cast<double>(options.checkpoint_every), "at least 0");
  }
  if (options.checkpoint_every > 0 && options.checkpoint.empty()) {
    fail(kDescend, "checkpoint_every without a checkpoint");
  }
  const auto check_rate = [](const char* name, double rate) {
    if (!(rate >= 0 && rate < 1)) fail(kDescend, name, rate, "at least 0 and below 1");
  };
  if (options.optimizer != Optimizer::plain) check_rate("momentum", options.momentum);
  if (options.optimizer == Optimizer::adam) {
    check_rate("squares", options.squares);
    check_finite(kDescend, "epsilon", options.epsilon);
    check_positive(kDescend, "epsilon", options.epsilon);
  }
  if (!(options.divergence_factor > 1)) {
    fail(kDescend, "divergence_factor", options.divergence_factor, "above 1");
  }
}

// Sets the moments of a new run; those of a run under way must be the optimizer's.
void prepare(DescentState& state, Eigen::Index size, Optimizer optimizer) {
  check_size(kDescend, "parameters of the state", state.parameters.size(), size);
  check_finite(kDescend, "parameters of the state", state.parameters);
  const Eigen::Index momentum = optimizer == Optimizer::plain ? 0 : size;
  const Eigen::Index squares = optimizer == Optimizer::adam ? size : 0;
  if (state.step == 0) {
    state.momentum = Vector::Zero(momentum);
    state.squares = Vector::Zero(squares);
    state.momentum_power = state.squares_power = 1;
  }
  if (state.momentum.size() != momentum || state.squares.size() != squares) {
    fail(kDescend, fmt::format("the state of step {} has {} numbers of momentum and {} of squares, but the "
                               "optimizer has {} and {}: go on with the one it began with",
                               state.step, state.momentum.size(), state.squares.size(), momentum, squares));
  }
}

class Descent {
 public:
  Descent(const StochasticRisk& risk, DescentState& state, const DescentOptions& options)
      : risk_(risk), state_(state), options_(options) {}

  void step() {
    const RiskPoint point = batch();
    look_at(point);
    const double size = options_.step_size(state_.step);
    if (!(size >= 0 && std::isfinite(size))) {
      fail(kDescend, fmt::format("step_size of step {}", state_.step), size, "finite and not negative");
    }
    move(point.gradient, size);
    // A sum is finite only if its terms are: this takes one pass, and a look at each term three.
    if (!std::isfinite(state_.parameters.sum()) && !state_.parameters.allFinite()) {
      throw Diverged(state_.step, "the parameters are no longer finite");
    }
    ++state_.step;
    state_.time += size;
    if (options_.record_every > 0 && state_.step % options_.record_every == 0) record();
  }

  void record() {
    if (!state_.records.empty() && state_.records.back().step == state_.step) return;
    const double loss = state_.loss_count > 0 ? state_.loss_sum / static_cast<double>(state_.loss_count) : 0;
    state_.records.push_back({state_.step, state_.time, state_.parameters, loss});
    state_.loss_sum = 0;
    state_.loss_count = 0;
  }

 private:
  RiskPoint batch() const {
    try {
      return risk_.batch(state_.parameters, state_.step);
    } catch (const InputError& error) {
      if (state_.step == 0) throw;  // the caller's parameters are at fault
      throw Diverged(state_.step, error.what());
    }
  }

  void look_at(const RiskPoint& point) {
    if (!std::isfinite(point.value)) throw Diverged(state_.step, "the loss is not finite");
    if (!std::isfinite(point.gradient.sum()) && !point.gradient.allFinite()) {
      throw Diverged(state_.step, "the gradient is not finite");
    }
    if (state_.step < training::kFirstBatches || state_.first_loss == 0) {
      state_.first_loss = std::max(state_.first_loss, std::abs(point.value));
    }
    if (std::abs(point.value) > options_.divergence_factor * state_.first_loss) {
      throw Diverged(
          state_.step,
          fmt::format("the loss of the batch is {:.6g}, more than {:g} times the {:.6g} of the first ones",
                      point.value, options_.divergence_factor, state_.first_loss));
    }
    if (state_.step == 0) state_.records.push_back({0, 0, state_.parameters, point.value});
    state_.loss_sum += point.value;
    ++state_.loss_count;
  }

  // Applies the formulas of the header.
  void move(const Vector& g, double size) {
    Vector &theta = state_.parameters, &m = state_.momentum, &q = state_.squares;
    const double beta = options_.momentum, beta2 = options_.squares;
    switch (options_.optimizer) {
      case Optimizer::plain: theta -= size * g; return;
      case Optimizer::momentum:
        m = beta * m + g;
        theta -= size * m;
        return;
      case Optimizer::adam:
        m = beta * m + (1 - beta) * g;
        q = beta2 * q + (1 - beta2) * g.cwiseAbs2();
        state_.momentum_power *= beta;
        state_.squares_power *= beta2;
        theta.array() -= size * (m.array() / (1 - state_.momentum_power)) /
                         ((q.array() / (1 - state_.squares_power)).sqrt() + options_.epsilon);
        return;
    }
  }

  const StochasticRisk& risk_;
  DescentState& state_;
  const DescentOptions& options_;
};

}  // namespace

Diverged::Diverged(std::int64_t step, const std::string& reason)
    : InputError(fmt::format("{}: diverged at step {}: {}; take smaller steps", kDescend, step, reason)),
      step_(step) {}

DescentState descend(const StochasticRisk& risk, DescentState state, const DescentOptions& options) {
  check_options(options);
  prepare(state, risk.size(), options.optimizer);
  Descent descent(risk, state, options);
  const std::int64_t first = state.step, left = options.steps - first;
  const std::int64_t report_every = std::max<std::int64_t>(1, left / kProgressCalls);
  const auto save = [&] {
    if (!options.checkpoint.empty()) save_descent(options.checkpoint, state);
  };
  while (state.step < options.steps) {
    try {
      runtime::check_stop(options.execution);
      descent.step();
    } catch (const Stopped&) {  // thrown before the state changed
      save();
      throw;
    }
    if (state.step == options.steps) break;
    if (options.checkpoint_every > 0 && state.step % options.checkpoint_every == 0) save();
    if (options.progress && (state.step - first) % report_every == 0) {
      options.progress(static_cast<double>(state.step) / static_cast<double>(options.steps));
    }
  }
  if (left > 0) {
    descent.record();
    save();
  }
  if (options.progress) options.progress(1);
  return state;
}

Trajectory trajectory_of(const DescentState& state) {
  Trajectory path;
  const DescentRecord* before = nullptr;
  for (const DescentRecord& record : state.records) {
    const bool moved = before != nullptr && record.time > before->time;
    if (before != nullptr && !moved) continue;  // steps of size zero
    Matrix values(record.parameters.size(), moved ? 2 : 1);
    if (moved) values.col(0) = before->parameters;
    values.rightCols(1) = record.parameters;
    path.add({record.time, record.parameters, record.loss, 0}, values);
    before = &record;
  }
  return path;
}

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
    numerics::sincospi(std::span(&turn, 1), std::span(&sine, 1), std::span(&cosine, 1));
    return last_size + (size - last_size) * (1 + cosine) / 2;
  };
}

StepSchedule make_schedule(Schedule schedule, double size, std::int64_t steps) {
  switch (schedule) {
    case Schedule::constant: return constant_steps(size);
    case Schedule::inverse_time: return inverse_time_steps(size, static_cast<double>(steps) / 10);
    case Schedule::cosine: return cosine_steps(size, steps);
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
