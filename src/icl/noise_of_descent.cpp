#include "icl/noise_of_descent.hpp"

#include <cmath>

#include "icl/plan_parts.hpp"

namespace largo {
namespace {

constexpr double kFrom = 0.8;  // of the time: records of the last fifth
constexpr Eigen::Index kMostParameters = 512;
// Squares of gradients have long tails, products of a dozen normal variables: 8192 prompts can be off by a
// factor of two in two dimensions.
constexpr std::int64_t kBatches = 16384, kPromptsOfBatch = 8;

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
  const Eigen::Index d = plan.problem.dimension();
  const TaskNodes nodes = final_nodes(plan);
  const auto risk_at = [&](const TrainingRun& path, const Vector& parameters) {
    const RegressionParameters here = to_parameters(path.map->map(parameters), d);
    return regression_risk(plan.problem, run.attention, run.L, here, nodes, execution).value;
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

std::optional<DescentNoise> predicted_noise(const TrainingPlan& plan, const TrainingRun& run,
                                            const TrainingRun& flow, const Execution& execution) {
  const Vector end = parameters_of(plan, flow, flow.path.points().back().parameters);
  const DescentOptions& descent = plan.descent;
  if (end.size() > kMostParameters || descent.steps < 1 || !has_one_size(descent)) return std::nullopt;
  const auto risk = risk_of(plan, run.attention, run.L, late_nodes(plan, run.L), execution);
  // Of prompts that follow the run's.
  RegressionBatches batches = plan.batches;
  batches.length = static_cast<std::int64_t>(run.L);
  batches.attention = run.attention;
  batches.prompts = kPromptsOfBatch;
  const std::int64_t first = descent.steps * plan.batches.prompts / kPromptsOfBatch + 1;
  const auto risks = in_parameters(regression_batches(plan.problem, batches), run.map);
  const Matrix covariance =
      static_cast<double>(kPromptsOfBatch) * gradient_covariance(*risks, end, first, kBatches);
  // Gradients of the descent are 2 loss_factor times those of the risk with ½.
  const double pace = 2 * plan.batches.loss_factor;
  DescentNoise noise =
      descent_noise(pace * hessian(*risk, end), covariance / static_cast<double>(plan.batches.prompts),
                    descent.step_size(0), descent.steps);
  if (!std::isfinite(noise.excess) || !std::isfinite(noise.spread)) return std::nullopt;
  noise.excess /= pace;
  noise.spread /= pace;
  return noise;
}

}  // namespace largo
