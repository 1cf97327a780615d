#include "icl/training/descents.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "icl/training/fingerprint.hpp"
#include "icl/training/plan_parts.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/device.hpp"

namespace largo::icl {
namespace {

constexpr const char* kDescents = "train";
constexpr std::int64_t kCheckpoints = 50;  // per run

DescentOptions descent_options(const TrainingPlan& plan, const Execution& execution) {
  DescentOptions options = plan.descent;
  options.execution.stop = execution.stop;
  if (!plan.checkpoints.empty()) {
    options.checkpoint_every = std::max<std::int64_t>(1, options.steps / kCheckpoints);
  }
  return options;
}

// A law of many lengths has no name of reasonable length; the fingerprint tells such files apart.
std::string file_part(const LengthLaw& L) {
  return L.is_one_length() ? fmt::format("{:.0f}", L.longest())
                           : fmt::format("{:.0f}-{:.0f}", L.shortest(), L.longest());
}

// Divergence is a mistake of the caller, who is told which run diverged.
[[noreturn]] void rethrow(const TrainingState& state, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Diverged& diverged) {
    fail(kDescents,
         fmt::format("{} attention, L = {}: {}", name_of(state.attention), state.L.name(), diverged.what()));
  }
}

}  // namespace

void begin_descent(const TrainingPlan& plan, TrainingState& state) {
  RegressionDescent& descent = state.descent;
  descent.batches.execution = plan.batches.execution;
  const std::string run = fmt::format("{:016x}", descent_fingerprint(plan, state.attention, state.L));
  if (!plan.checkpoints.empty()) {
    descent.checkpoint = plan.checkpoints / fmt::format("{}-L{}-{}.safetensors", name_of(state.attention),
                                                        file_part(state.L), run);
  }
  if (!descent.checkpoint.empty() && std::filesystem::exists(descent.checkpoint)) {
    descent.state = load_descent(descent.checkpoint, run);
  } else {
    descent.state.parameters = plan.start;
    descent.state.run = run;
  }
}

void descend_here(const TrainingPlan& plan, TrainingState& state,
                  const std::function<void(double share)>& progress, const Execution& execution) {
  RegressionDescent& descent = state.descent;
  DescentOptions options = descent_options(plan, execution);
  options.progress = progress;
  options.checkpoint = descent.checkpoint;
  const auto risk = batches_of(plan, descent.batches);
  try {
    descent.state = descend(*risk, std::move(descent.state), options);
  } catch (const Diverged&) {
    rethrow(state, std::current_exception());
  }
}

void descend_on_device(const TrainingPlan& plan, const std::vector<TrainingState*>& states,
                       const std::function<void(double share)>& progress, const Execution& execution) {
  if (states.empty()) return;
  DescentOptions options = descent_options(plan, execution);
  options.progress = progress;
  std::vector<RegressionDescent> all;
  for (TrainingState* state : states) {
    all.push_back(std::move(state->descent));
    if (plan.other) all.back().prompts = descent_prompts(plan, all.back().batches);
  }
  engine_of<DescentEngine>(*execution.device).descend(plan.problem, plan.parameters, options, all);
  for (std::size_t i = 0; i < all.size(); ++i) states[i]->descent = std::move(all[i]);
  for (const TrainingState* state : states) {
    if (state->descent.error) rethrow(*state, state->descent.error);
  }
}

TrainingRun descent_run(const TrainingPlan& plan, TrainingState& state) {
  TrainingRun run;
  run.L = state.L;
  run.attention = state.attention;
  run.seed = plan.batches.seed;
  run.method = TrainingMethod::descent;
  run.map = map_of(plan);
  DescentState& descent = state.descent.state;
  // The gradient of `factor` times the squared error is 2 factor times that of the risk.
  const double pace = 2 * plan.batches.loss_factor;
  for (DescentRecord& record : descent.records) {
    record.time *= pace;
    record.loss /= pace;
  }
  run.path = trajectory_of(descent);
  run.steps = descent.step;
  run.last = to_head(plan, run.map->map(descent.parameters));
  run.final_risk = end_risk(plan, run.attention, run.L, run.last, plan.batches.execution);
  return run;
}

}  // namespace largo::icl
