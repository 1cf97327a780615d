#include "icl/training/descent_runs.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "icl/training/fingerprint.hpp"
#include "icl/training/plan_parts.hpp"
#include "largo/icl/parametrisation.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/device.hpp"

namespace largo {
namespace {

constexpr const char* kName = "train";
constexpr std::int64_t kCheckpoints = 50;  // in a run

const char* name_of(AttentionKind attention) {
  return attention == AttentionKind::softmax ? "softmax" : "linear";
}

DescentOptions descent_options(const TrainingPlan& plan, const Execution& execution) {
  DescentOptions options = plan.descent;
  options.execution.stop = execution.stop;
  if (!plan.checkpoints.empty()) {
    options.checkpoint_every = std::max<std::int64_t>(1, options.steps / kCheckpoints);
  }
  return options;
}

void finish(PlannedDescent& planned, DescentOptions options) {
  const TrainingPlan& plan = *planned.plan;
  EngineDescent& descent = planned.descent;
  try {
    if (descent.error) std::rethrow_exception(descent.error);
    options.checkpoint = descent.checkpoint;
    const auto risk = in_parameters(regression_batches(plan.problem, descent.batches), map_of(plan));
    descent.state = descend(*risk, std::move(descent.state), options);
  } catch (const Diverged& error) {
    fail(kName, fmt::format("{} attention, L = {:g}: {}", name_of(descent.batches.attention), planned.L,
                            error.what()));
  }
}

}  // namespace

PlannedDescent prepare_descent(const TrainingPlan& plan, AttentionKind attention, double L) {
  PlannedDescent planned{&plan, L};
  EngineDescent& descent = planned.descent;
  descent.batches = plan.batches;
  descent.batches.length = static_cast<std::int64_t>(L);
  descent.batches.attention = attention;
  const std::string run = fmt::format("{:016x}", descent_fingerprint(plan, attention, L));
  if (!plan.checkpoints.empty()) {
    descent.checkpoint =
        plan.checkpoints / fmt::format("{}-L{:.0f}-{}.safetensors", name_of(attention), L, run);
  }
  if (!descent.checkpoint.empty() && std::filesystem::exists(descent.checkpoint)) {
    descent.state = load_descent(descent.checkpoint, run);
  } else {
    descent.state.parameters = plan.start;
    descent.state.run = run;
  }
  return planned;
}

void descend_on_device(std::vector<PlannedDescent*> descents,
                       const std::function<void(double share)>& progress, const Execution& execution) {
  if (descents.empty()) return;
  const TrainingPlan& plan = *descents.front()->plan;
  DescentOptions options = descent_options(plan, execution);
  options.progress = progress;
  std::vector<EngineDescent> all;
  for (PlannedDescent* planned : descents) all.push_back(std::move(planned->descent));
  engine_of<DescentEngine>(*execution.device).descend(plan.problem, plan.parameters, options, all);
  for (std::size_t i = 0; i < all.size(); ++i) descents[i]->descent = std::move(all[i]);
  // One that failed ended the others too: they are not to go on on the threads.
  for (PlannedDescent* planned : descents) {
    if (planned->descent.error) finish(*planned, options);
  }
}

TrainingRun descent_run(PlannedDescent& planned, const std::function<void(double share)>& progress,
                        const Execution& execution) {
  const TrainingPlan& plan = *planned.plan;
  DescentOptions options = descent_options(plan, execution);
  options.progress = progress;
  finish(planned, options);
  TrainingRun run;
  run.L = planned.L;
  run.attention = planned.descent.batches.attention;
  run.seed = plan.batches.seed;
  run.method = TrainingMethod::descent;
  run.map = map_of(plan);
  DescentState& state = planned.descent.state;
  // A gradient of `factor` times the squared error is 2 factor times that of the risk.
  const double pace = 2 * plan.batches.loss_factor;
  for (DescentRecord& record : state.records) {
    record.time *= pace;
    record.loss /= pace;
  }
  run.path = trajectory_of(state);
  run.steps = state.step;
  run.last = to_parameters(run.map->map(state.parameters), plan.problem.dimension());
  run.final_risk = regression_risk(plan.problem, run.attention, run.L, run.last, final_nodes(plan),
                                   plan.batches.execution);
  return run;
}

}  // namespace largo
