#include "icl/training/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "icl/prediction_distance.hpp"
#include "icl/training/plan_parts.hpp"
#include "icl/training/training_state.hpp"
#include "largo/runtime/check.hpp"

namespace largo::icl {
namespace {

constexpr double kFrom = 0.8;  // share of the time: records of the last fifth count
constexpr Eigen::Index kMostParameters = 512;
// Squares of gradients have long tails, since they are products of a dozen normal variables: in two
// dimensions 8192 prompts were off by a factor of two, 131,072 by up to a tenth. At most a quarter of the
// run's prompts are taken.
constexpr std::int64_t kMostBatches = 16384, kFewestBatches = 64, kPromptsOfBatch = 8;
constexpr double kMostOfSlope = 0.5;  // largest share of the slope in the variance, for a flow at rest

bool has_one_size(const DescentOptions& descent) {
  const double size = descent.step_size(0);
  for (std::int64_t step = 1; step < descent.steps; ++step) {
    if (descent.step_size(step) != size) return false;
  }
  return true;
}

// Mean and deviation of one run's risk above the flow's, over the records of the last fifth. Their error is
// not estimated: records are correlated over the time in which steps forget, and one run sees few rare
// batches.
DescentNoise measured_noise(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& flow,
                            const Execution& execution) {
  // Both risks are over the same nodes: differences of neighbours are far more accurate than either.
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

struct NoisePrediction {
  std::optional<DescentNoise> noise;
  std::string reason;  // why there is no prediction
};

// The prediction of descent_noise() where the flow is at the end of the run's time. There is none if steps
// differ in size, if the flow is shorter, has not come to rest or repels steps of that size, or for more than
// 512 parameters.
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
  // These prompts follow those of the run.
  RegressionBatches batches = plan.batches;
  set_length(batches, run.L);
  batches.attention = run.attention;
  batches.prompts = kPromptsOfBatch;
  batches.execution = execution;
  const std::int64_t drawn = descent.steps * plan.batches.prompts / kPromptsOfBatch + 1;
  const std::int64_t count = std::clamp(drawn / 4, kFewestBatches, kMostBatches);
  const auto risks = batches_of(plan, batches);
  const Matrix S = gradient_covariance(*risks, end, drawn, count) *
                   (static_cast<double>(kPromptsOfBatch) / static_cast<double>(plan.batches.prompts));
  // The descent's loss is `pace` times the risk, which has the factor ½.
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

// The root mean square difference of outputs for infinite prompts, over some of the draws of the flows.
class OutputDistance {
 public:
  OutputDistance(const TrainingPlan& plan, AttentionKind attention)
      : risk_(setting_of(plan, attention, kInfinity, DrawsOf::flow), kPrompts, {.threads = 1}) {}

  double operator()(const Vector& one, const Vector& two) const {
    return (risk_.outputs(one) - risk_.outputs(two)).norm() / std::sqrt(static_cast<double>(kPrompts));
  }

 private:
  static constexpr std::int64_t kPrompts = 256;
  PromptRisk risk_;
};

}  // namespace

PathDistance path_distance(const TrainingPlan& plan, const TrainingRun& one, const TrainingRun& two) {
  // A flow that ended where it is stationary stays there.
  const double ends[] = {one.path.end(), two.path.end()};
  const double horizon = one.stationary && two.stationary ? std::max(ends[0], ends[1])
                         : one.stationary                 ? ends[1]
                         : two.stationary                 ? ends[0]
                                                          : std::min(ends[0], ends[1]);
  PathDistance distance;
  if (plan.other) {
    const OutputDistance outputs(plan, one.attention);
    distance.parameters = largest_distance(
        one.path, two.path, horizon,
        [&](const Vector& x, const Vector& y) { return (one.map->map(x) - two.map->map(y)).norm(); });
    distance.predictions = largest_distance(
        one.path, two.path, horizon,
        [&](const Vector& x, const Vector& y) { return outputs(one.map->map(x), two.map->map(y)); });
    return distance;
  }
  const Eigen::Index d = plan.problem.dimension();
  const PredictionDistance predictions(plan.problem);
  distance.parameters = largest_distance(one.path, two.path, horizon, [&](const Vector& x, const Vector& y) {
    const RegressionParameters p = to_parameters(one.map->map(x), d), q = to_parameters(two.map->map(y), d);
    return std::hypot((p.U - q.U).leftCols(d).norm(), (p.v - q.v).norm());
  });
  distance.predictions = largest_distance(one.path, two.path, horizon, [&](const Vector& x, const Vector& y) {
    return predictions(to_parameters(one.map->map(x), d), to_parameters(two.map->map(y), d));
  });
  return distance;
}

bool is_comparable(const TrainingPlan& plan) { return plan.descent.optimizer == Optimizer::plain; }

void compare_with_flow(const TrainingPlan& plan, TrainingRun& run, const TrainingRun& flow,
                       const Execution& execution) {
  run.to_flow = path_distance(plan, run, flow);
  run.noise = measured_noise(plan, run, flow, execution);
  try {
    NoisePrediction prediction = predict(plan, run, flow, execution);
    run.predicted_noise = prediction.noise;
    run.no_prediction = std::move(prediction.reason);
  } catch (const Stopped&) {
    throw;
  } catch (const InputError& error) {  // a failed prediction must not cost the run
    run.no_prediction = error.what();
  }
}
}  // namespace largo::icl
