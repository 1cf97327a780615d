#include "icl/flow_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "icl/general_risk.hpp"
#include "icl/path_distance.hpp"
#include "icl/plan_parts.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostGaps = 200;  // where gradients are compared, along a path

InvariantPoint invariant_start(const TrainingPlan& plan) {
  const Eigen::Index d = plan.problem.dimension();
  return {plan.start.head(d * d).reshaped(d, d), plan.start[d * d]};
}

bool is_regular(const Matrix& covariance) {
  const Vector values = singular_values(covariance).values;
  return values[values.size() - 1] > 1e-12 * values[0];
}

// Over nodes or exact: see softmax_risk_over_nodes().
enum class Average : std::uint8_t { best, nodes };

// Along a flow whose first half averages over fewer tasks than the second, the risk is looked at over the
// same tasks throughout. What they miss is known at both ends, and in between about as the risk falls from
// the one to the other.
void look_at_records(const TrainingPlan& plan, TrainingRun& run, const Execution& execution) {
  const auto best = [&](const Vector& parameters, const TaskNodes& nodes) {
    const RegressionParameters here = to_parameters(run.map->map(parameters), plan.problem.dimension());
    return regression_risk(plan.problem, run.attention, run.L, here, nodes, execution);
  };
  const TaskNodes some = late_nodes(plan, run.L);
  const std::vector<TrajectoryPoint>& points = run.path.points();
  const Estimate start = best(points.front().parameters, some);
  const Estimate end = best(points.back().parameters, final_nodes(plan));
  run.final_risk = end;
  if (run.attention == AttentionKind::softmax && std::isfinite(run.L) &&
      plan.parameters != Parametrisation::invariant) {
    const auto risk = in_parameters(softmax_risk_over_nodes(plan.problem, run.L, some, execution), run.map);
    std::vector<TrajectoryPoint> seen = points;
    for (TrajectoryPoint& point : seen) {
      if (point.time > plan.flow.end / 2) break;  // from there on they are over these tasks
      const RiskPoint here = risk->at(point.parameters);
      point.risk = here.value;
      point.gradient_norm = here.gradient.norm();
    }
    const double first = seen.front().risk, last = seen.back().risk;
    Trajectory path;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const double share = first == last ? 1 : std::clamp((first - seen[i].risk) / (first - last), 0.0, 1.0);
      seen[i].risk += (1 - share) * (start.value - first) + share * (end.value - last);
      path.add(std::move(seen[i]), run.path.values()[i]);
    }
    run.path = std::move(path);
  }
  const TrajectoryPoint& middle = run.path.points()[run.path.points().size() / 2];
  const Estimate there = best(middle.parameters, some);
  run.record_error = std::max({std::abs(run.path.points().front().risk - start.value) + start.error,
                               std::abs(middle.risk - there.value) + there.error,
                               std::abs(run.path.points().back().risk - end.value) + end.error});
}

// Most steps of a flow off the invariant set are spent in its first half, in transients; errors of the nodes
// matter at the end.
void general_flow(const TrainingPlan& plan, TrainingRun& run, Average average, const Execution& execution) {
  FlowPlan flow_plan = plan.flow;
  flow_plan.method = FlowMethod::krylov;
  const bool exact =
      average == Average::best && (run.attention == AttentionKind::linear || std::isinf(run.L));
  const bool halves = !exact && std::isfinite(plan.flow.end);
  if (halves) flow_plan.end = plan.flow.end / 2;
  Vector start = plan.start;
  for (int half = 0; half < (halves ? 2 : 1); ++half) {
    const TaskNodes nodes = half == 0 ? early_nodes(plan, run.L) : late_nodes(plan, run.L);
    const auto risk = in_parameters(exact ? general_risk(plan.problem, run.attention, run.L, nodes, execution)
                                          : softmax_risk_over_nodes(plan.problem, run.L, nodes, execution),
                                    run.map);
    const FlowResult flow = gradient_flow(*risk, start, flow_plan, execution);
    flow.trajectory.append_to(run.path, half == 0 ? 0 : run.path.end());
    start = run.path.points().back().parameters;
    run.stationary = flow.stationary;
  }
}

TrainingRun flow_alone(const TrainingPlan& plan, AttentionKind attention, double L, Average average,
                       const Execution& execution) {
  TrainingRun run;
  run.L = L;
  run.attention = attention;
  run.seed = plan.batches.seed;
  run.method = TrainingMethod::flow;
  const Eigen::Index d = plan.problem.dimension();
  if (plan.parameters == Parametrisation::invariant) {
    RegressionFlow flow =
        regression_flow(plan.problem, attention, L, invariant_start(plan), plan.flow, execution);
    run.path = std::move(flow.flow.trajectory);
    run.map = map_of_flow(plan);
    run.stationary = flow.flow.stationary;
    run.balance_drift = flow.flow.drift.back();
    if (std::isinf(L) && run.stationary && plan.problem.score_scale != 0 &&
        is_regular(plan.problem.covariance)) {
      const InvariantPoint limit = infinite_limit(plan.problem);
      run.to_theorem = std::hypot((flow.last.A - limit.A).norm(), flow.last.b - limit.b);
    }
  } else {
    run.map = map_of(plan);
    general_flow(plan, run, average, execution);
  }
  const std::vector<TrajectoryPoint>& points = run.path.points();
  run.steps = static_cast<std::int64_t>(points.size()) - 1;
  run.last = to_parameters(run.map->map(points.back().parameters), d);
  if (average == Average::best) look_at_records(plan, run, execution);
  return run;
}

double gradient_gap(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& limit,
                    const Execution& execution) {
  const auto finite = risk_of(plan, run.attention, run.L, plan.nodes, execution);
  const auto infinite = risk_of(plan, run.attention, kInfinity, plan.nodes, execution);
  const std::vector<TrajectoryPoint>& points = limit.path.points();
  const std::size_t stride = 1 + points.size() / kMostGaps;
  double largest = 0;
  for (std::size_t i = 0; i < points.size(); i += stride) {
    const Vector here = parameters_of(plan, limit, points[i].parameters);
    largest = std::max(largest, (finite->at(here).gradient - infinite->at(here).gradient).norm());
  }
  return largest;
}

}  // namespace

std::shared_ptr<const ParameterMap> map_of_flow(const TrainingPlan& plan) {
  if (plan.parameters != Parametrisation::invariant) return map_of(plan);
  return composed(flow_parameters(plan.problem, invariant_start(plan)),
                  invariant_map(plan.problem.dimension()));
}

LimitFlows limit_flows(const TrainingPlan& plan, const Execution& execution) {
  LimitFlows limits;
  limits.exact = flow_alone(plan, AttentionKind::softmax, kInfinity, Average::best, execution);
  limits.over_nodes = plan.parameters == Parametrisation::invariant
                          ? limits.exact
                          : flow_alone(plan, AttentionKind::softmax, kInfinity, Average::nodes, execution);
  return limits;
}

TrainingRun flow_run(const TrainingPlan& plan, AttentionKind attention, double L, const LimitFlows& limits,
                     const Execution& execution) {
  if (std::isinf(L)) {
    TrainingRun run = limits.exact;
    run.attention = attention;
    run.seed = plan.batches.seed;
    run.gradient_gap = 0;
    run.to_limit_flow = path_distance(plan.problem, run, limits.exact);
    return run;
  }
  const TrainingRun& reference = attention == AttentionKind::softmax ? limits.over_nodes : limits.exact;
  TrainingRun run = flow_alone(plan, attention, L, Average::best, execution);
  run.gradient_gap = gradient_gap(plan, run, reference, execution);
  run.to_limit_flow = path_distance(plan.problem, run, reference);
  return run;
}

}  // namespace largo
