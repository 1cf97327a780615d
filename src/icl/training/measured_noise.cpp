#include "icl/training/measured_noise.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "icl/training/plan_parts.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr double kFrom = 0.8;  // of the time: records of the last fifth
constexpr Eigen::Index kMostParameters = 512;
// Squares of gradients have long tails, being products of a dozen normal variables: in two dimensions 8192
// prompts were off by a factor of two, 131,072 by up to a tenth. Never more than a quarter of the run's.
constexpr std::int64_t kMostBatches = 16384, kFewestBatches = 64, kPromptsOfBatch = 8;
constexpr double kMostOfSlope = 0.5;  // of the variance, where a flow has come to rest

bool has_one_size(const DescentOptions& descent) {
  const double size = descent.step_size(0);
  for (std::int64_t step = 1; step < descent.steps; ++step) {
    if (descent.step_size(step) != size) return false;
  }
  return true;
}

}  // namespace

DescentNoise measured_noise(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& flow,
                            const Execution& execution) {
  // Over the same nodes for both: differences of neighbours are far more accurate than either.
  const auto risk = risk_of(plan, run.attention, run.L, final_nodes(plan), execution);
  const auto risk_at = [&](const TrainingRun& path, const Vector& parameters) {
    return risk->at(parameters_of(plan, path, parameters)).value;
  };
  double count = 0, mean = 0, squares = 0;
  for (const TrajectoryPoint& point : run.path.points()) {
    if (point.time < kFrom * run.path.end()) continue;
    const double excess = risk_at(run, point.parameters) - risk_at(flow, flow.path.at(point.time));
    const double change = excess - mean;
    mean += change / ++count;
    squares += change * (excess - mean);
  }
  return {mean, count > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

namespace {

NoisePrediction predict(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& flow,
                        const Execution& execution) {
  const DescentOptions& descent = plan.descent;
  const double time = run.path.end();
  if (descent.steps < 1 || !has_one_size(descent)) return {{}, "steps differ in size"};
  if (flow.path.end() < time * (1 - 1e-9) && !flow.stationary) return {{}, "the flow is shorter"};
  const Vector end = parameters_of(plan, flow, flow.path.at(std::min(time, flow.path.end())));
  if (end.size() > kMostParameters) return {{}, fmt::format("more than {} parameters", kMostParameters)};
  const auto risk = risk_of(plan, run.attention, run.L, late_nodes(plan, run.L), execution);
  const Matrix H = hessian(*risk, end, execution);
  // Of prompts that follow the run's.
  RegressionBatches batches = plan.batches;
  batches.length = static_cast<std::int64_t>(run.L);
  batches.attention = run.attention;
  batches.prompts = kPromptsOfBatch;
  batches.execution = execution;
  const std::int64_t drawn = descent.steps * plan.batches.prompts / kPromptsOfBatch + 1;
  const std::int64_t count = std::clamp(drawn / 4, kFewestBatches, kMostBatches);
  const auto risks = in_parameters(regression_batches(plan.problem, batches), run.map);
  const Matrix S = gradient_covariance(*risks, end, drawn, count) *
                   (static_cast<double>(kPromptsOfBatch) / static_cast<double>(plan.batches.prompts));
  // The descent's loss is `pace` times the risk with ½.
  const double pace = 2 * plan.batches.loss_factor;
  const auto noise_with = [&](const Vector& slope) {
    return descent_noise(pace * slope, pace * H, S, descent.step_size(0), descent.steps);
  };
  const DescentNoise at_rest = noise_with(Vector::Zero(end.size())),
                     noise = noise_with(risk->at(end).gradient);
  if (!std::isfinite(noise.excess) || !std::isfinite(noise.spread)) {
    return {{}, "steps of that size leave the flow's end"};
  }
  if (noise.spread * noise.spread * (1 - kMostOfSlope) > at_rest.spread * at_rest.spread) {
    return {{}, "the flow has not come to rest"};
  }
  return {DescentNoise{noise.excess / pace, noise.spread / pace}, {}};
}

}  // namespace

NoisePrediction predicted_noise(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& flow,
                                const Execution& execution) {
  try {
    return predict(plan, run, flow, execution);
  } catch (const Stopped&) {
    throw;
  } catch (const InputError& error) {  // must not cost the run
    return {{}, error.what()};
  }
}

}  // namespace largo
