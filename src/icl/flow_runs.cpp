#include "icl/flow_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "icl/flow_records.hpp"
#include "icl/general_risk.hpp"
#include "icl/path_distance.hpp"
#include "icl/plan_parts.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"

namespace largo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostGaps = 200;  // where gradients are compared, along a path
constexpr int kRoughFlows = 3;          // that tell how far nodes move an end
constexpr std::int64_t kRoughNodes = 4;
constexpr double kRoughTolerance = 10;
constexpr std::int64_t kRoughSteps = 3, kFewestSteps = 1000;  // times those of the flow itself, or these
constexpr double kSafety = 2;  // ends may be moved in the same way by all sets of nodes
constexpr std::uint64_t kOtherSeed = 0x9e3779b97f4a7c15;  // the next seeds are those of other runs

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

bool is_over_nodes(const TrainingRun& run, Average average) {
  return average == Average::nodes || (run.attention == AttentionKind::softmax && std::isfinite(run.L));
}

// Most steps of a flow off the invariant set are spent in its first half, in transients; errors of the nodes
// matter at the end.
void general_flow(const TrainingPlan& plan, TrainingRun& run, Average average, const Execution& execution) {
  FlowPlan flow_plan = plan.flow;
  flow_plan.method = FlowMethod::krylov;
  const bool over_nodes = is_over_nodes(run, average);
  const bool halves = over_nodes && std::isfinite(plan.flow.end);
  if (halves) flow_plan.end = plan.flow.end / 2;
  Vector start = plan.start;
  for (int half = 0; half < (halves ? 2 : 1); ++half) {
    const TaskNodes nodes = half == 0 ? early_nodes(plan, run.L) : late_nodes(plan, run.L);
    const auto risk =
        in_parameters(over_nodes ? softmax_risk_over_nodes(plan.problem, run.L, nodes, execution)
                                 : general_risk(plan.problem, run.attention, run.L, nodes, execution),
                      run.map);
    const FlowResult flow = gradient_flow(*risk, start, flow_plan, execution);
    flow.trajectory.append_to(run.path, half == 0 ? 0 : run.path.end());
    start = run.path.points().back().parameters;
    run.stationary = flow.stationary;
    run.flat = flow.flat;
  }
}

// Twice how far the nodes, and the tolerances, move the risk at the end: the most that it differs where flows
// end that have a quarter of the nodes, others each, and ten times the tolerances. Risks are averages over
// one set of nodes, so that what these miss is the same at all ends. Where such a flow does not come to its
// end in three times as many steps, nodes matter so much that nothing is known of the end: all that was
// gained.
double moved_by_nodes(const TrainingPlan& plan, const TrainingRun& run, const Execution& execution) {
  const TaskNodes some = late_nodes(plan, run.L);
  const auto risk = in_parameters(softmax_risk_over_nodes(plan.problem, run.L, some, execution), run.map);
  const auto risk_at = [&](const TrainingRun& of) {
    return risk->at(of.path.points().back().parameters).value;
  };
  const double end = risk_at(run);
  TrainingPlan rough = plan;
  rough.nodes.count = std::max<std::int64_t>(plan.nodes.count / kRoughNodes, 1);
  rough.flow.relative_tolerance *= kRoughTolerance;
  rough.flow.absolute_tolerance *= kRoughTolerance;
  rough.flow.most_steps = std::min(plan.flow.most_steps, std::max(kRoughSteps * run.steps, kFewestSteps));
  double moved = 0;
  for (int i = 0; i < kRoughFlows; ++i) {
    rough.nodes.seed += kOtherSeed;
    TrainingRun other;
    other.L = run.L;
    other.map = run.map;
    try {
      general_flow(rough, other, Average::nodes, execution);
      moved = std::max(moved, kSafety * std::abs(risk_at(other) - end));
    } catch (const InputError&) {
      moved = std::max(moved, std::abs(risk->at(plan.start).value - end));
    }
  }
  return moved;
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
    run.flat = flow.flow.flat;
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
  if (average == Average::nodes) return run;
  look_at_records(plan, run, execution);
  if (plan.parameters != Parametrisation::invariant && is_over_nodes(run, average)) {
    run.final_risk.error += moved_by_nodes(plan, run, execution);
  }
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
    largest = std::max(largest, (finite->at(here).gradient - infinite->at(here).gradient).stableNorm());
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
