#include "icl/training/flow_runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "icl/training/comparison.hpp"
#include "icl/training/plan_parts.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/invariant_set.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::icl {
namespace {

constexpr std::size_t kMostGaps = 200;  // points of a path at which gradients are compared
// Factors on the tolerances of flows that tell how far errors of steps move an end. There are two of them:
// the distance between two flows changes its sign in time, at another time for another flow.
constexpr double kRoughTolerances[] = {30, 10};
constexpr double kOtherTolerance = 2;  // the same for flows over other nodes
constexpr int kOtherNodes = 3;
constexpr std::int64_t kRoughNodes = 4;
constexpr std::int64_t kRoughSteps = 3, kFewestSteps = 1000;  // times the flow's steps, but at least these
constexpr double kSafety = 2;                             // all sets of nodes may move ends in the same way
constexpr std::uint64_t kOtherSeed = 0x9e3779b97f4a7c15;  // the next seeds belong to other runs

InvariantPoint invariant_start(const TrainingPlan& plan) {
  const Eigen::Index d = plan.problem.dimension();
  return {plan.start.head(d * d).reshaped(d, d), plan.start[d * d]};
}

bool is_regular(const Matrix& covariance) {
  const Vector values = numerics::singular_values(covariance).values;
  return values[values.size() - 1] > 1e-12 * values[0];
}

// Whether risks are the best that are known or averages over nodes: see softmax_risk_over_nodes().
enum class Average : std::uint8_t { best, nodes };

bool is_over_nodes(const TrainingRun& run, Average average) {
  return average == Average::nodes || (run.attention == AttentionKind::softmax && !run.L.is_infinite());
}

FlowPlan with_tolerances(FlowPlan plan, double factor) {
  plan.relative_tolerance *= factor;
  plan.absolute_tolerance *= factor;
  return plan;
}

// Most steps of a flow off the invariant set are spent in its first half, in transients, but errors of the
// nodes matter at the end.
void general_flow(const TrainingPlan& plan, TrainingRun& run, Average average, const Execution& execution) {
  const bool over_nodes = is_over_nodes(run, average);
  const double coarser = std::max(1.0, plan.node_tolerance / plan.flow.relative_tolerance);
  FlowPlan flow_plan = with_tolerances(plan.flow, over_nodes ? coarser : 1);
  flow_plan.method = FlowMethod::krylov;
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

// The course of a flow and its end, without what is known about its risks.
TrainingRun followed(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L, Average average,
                     const Execution& execution) {
  TrainingRun run;
  run.L = L;
  run.attention = attention;
  run.seed = plan.batches.seed;
  run.method = TrainingMethod::flow;
  if (plan.parameters == Parametrisation::invariant) {
    RegressionFlow flow =
        regression_flow(plan.problem, attention, L, invariant_start(plan), plan.flow, execution);
    run.path = std::move(flow.flow.trajectory);
    run.map = map_of_flow(plan);
    run.stationary = flow.flow.stationary;
    run.flat = flow.flow.flat;
    run.balance_drift = flow.flow.drift.back();
    if (L.is_infinite() && run.stationary && plan.problem.score_scale != 0 &&
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
  run.last = to_parameters(run.map->map(points.back().parameters), plan.problem.dimension());
  return run;
}

Vector end_of(const TrainingPlan& plan, const TrainingRun& run) {
  return parameters_of(plan, run, run.path.points().back().parameters);
}

// Σ |∂R/∂θ_k| |Δθ_k| with the larger of the two slopes: how much risks at such a distance may differ,
// whatever the signs are.
double possible_difference(const RiskPoint& one, const RiskPoint& two, const Vector& distance) {
  return one.gradient.cwiseAbs().cwiseMax(two.gradient.cwiseAbs()).dot(distance.cwiseAbs());
}

// How far errors of steps may have moved the risk at the end of a flow to a given time: how much it may
// differ from that of two flows with larger tolerances. Flows to their end have the same end.
double moved_by_steps(const TrainingPlan& plan, const TrainingRun& run, const Execution& execution) {
  if (!std::isfinite(plan.flow.end) || run.stationary) return 0;
  const auto risk =
      plan.parameters == Parametrisation::invariant
          ? invariant_risk(plan.problem, run.attention, run.L)
          : in_parameters(general_risk(plan.problem, run.attention, run.L, plan.nodes, execution),
                          map_of(plan));
  const Vector end = end_of(plan, run);
  const RiskPoint there = risk->at(end);
  TrainingPlan rough = plan;
  double moved = 0;
  for (const double factor : kRoughTolerances) {
    rough.flow = with_tolerances(plan.flow, factor);
    const Vector other = end_of(plan, followed(rough, run.attention, run.L, Average::best, execution));
    moved = std::max(moved, possible_difference(there, risk->at(other), other - end));
  }
  return moved;
}

// The end of a flow over a quarter as many other nodes, with larger tolerances. InputError if it does not
// come to its end within three times as many steps.
Vector rough_end(const TrainingPlan& plan, const TrainingRun& run, int seed, double factor,
                 const Execution& execution) {
  TrainingPlan rough = plan;
  rough.nodes.count = std::max<std::int64_t>(plan.nodes.count / kRoughNodes, 1);
  rough.nodes.seed += static_cast<std::uint64_t>(seed) * kOtherSeed;
  rough.flow = with_tolerances(plan.flow, factor);
  rough.flow.most_steps = std::min(plan.flow.most_steps, std::max(kRoughSteps * run.steps, kFewestSteps));
  rough.node_tolerance = factor * plan.node_tolerance;
  return end_of(plan, followed(rough, run.attention, run.L, Average::nodes, execution));
}

// How far nodes and errors of steps may have moved the risk at the end. For nodes, this is twice the largest
// difference from the ends of three flows over other nodes; for steps, the possible difference between flows
// over the same nodes with different tolerances. Risks are averages over one set of nodes, so that what these
// miss is the same at all ends. If a flow does not come to its end, nodes matter so much that nothing is
// known about it, and the result is all that was gained.
double moved_by_nodes(const TrainingPlan& plan, const TrainingRun& run, const Execution& execution) {
  const TaskNodes some = late_nodes(plan, run.L);
  const auto risk = in_parameters(softmax_risk_over_nodes(plan.problem, run.L, some, execution), run.map);
  const double value = risk->at(end_of(plan, run)).value;
  double by_nodes = 0, by_steps = 0;
  try {
    Vector first;
    RiskPoint of_first;
    for (int seed = 1; seed <= kOtherNodes; ++seed) {
      const Vector other = rough_end(plan, run, seed, kOtherTolerance, execution);
      const RiskPoint here = risk->at(other);
      by_nodes = std::max(by_nodes, kSafety * std::abs(here.value - value));
      if (seed == 1) {
        first = other;
        of_first = here;
      }
    }
    for (const double factor : kRoughTolerances) {
      const Vector other = rough_end(plan, run, 1, factor, execution);
      by_steps = std::max(by_steps, possible_difference(of_first, risk->at(other), other - first));
    }
  } catch (const InputError&) {
    return std::max(by_nodes, std::abs(risk->at(plan.start).value - value));
  }
  return by_nodes + by_steps;
}

// The flow at one length, with its risks and their errors.
TrainingRun flow_alone(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                       const Execution& execution) {
  TrainingRun run = followed(plan, attention, L, Average::best, execution);
  look_at_records(plan, run, execution);
  const bool over_nodes = plan.parameters != Parametrisation::invariant && is_over_nodes(run, Average::best);
  run.final_risk.error +=
      over_nodes ? moved_by_nodes(plan, run, execution) : moved_by_steps(plan, run, execution);
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
  if (plan.parameters != Parametrisation::invariant || plan.other) return map_of(plan);
  return composed(flow_parameters(plan.problem, invariant_start(plan)),
                  invariant_map(plan.problem.dimension()));
}

LimitFlows limit_flows(const TrainingPlan& plan, const ShowFlow& show, const Execution& execution) {
  LimitFlows limits;
  if (plan.other) {
    limits.exact = flow_over_draws(plan, AttentionKind::softmax, kInfinity, show, execution);
    limits.over_nodes = limits.exact;
    return limits;
  }
  limits.exact = flow_alone(plan, AttentionKind::softmax, kInfinity, execution);
  limits.over_nodes = plan.parameters == Parametrisation::invariant
                          ? limits.exact
                          : followed(plan, AttentionKind::softmax, kInfinity, Average::nodes, execution);
  return limits;
}

TrainingRun flow_run(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                     const LimitFlows& limits, const ShowFlow& show, const Execution& execution) {
  if (plan.other && attention == AttentionKind::linear && L.is_infinite()) {
    // Linear attention has a limit of its own where tokens are not Gaussian.
    TrainingRun run = flow_over_draws(plan, attention, L, show, execution);
    run.to_limit_flow = path_distance(plan, run, limits.exact);
    return run;
  }
  if (L.is_infinite()) {
    TrainingRun run = limits.exact;
    run.attention = attention;
    run.seed = plan.batches.seed;
    run.gradient_gap = 0;
    run.to_limit_flow = path_distance(plan, run, limits.exact);
    return run;
  }
  const TrainingRun& reference = attention == AttentionKind::softmax ? limits.over_nodes : limits.exact;
  TrainingRun run = plan.other ? flow_over_draws(plan, attention, L, show, execution)
                               : flow_alone(plan, attention, L, execution);
  run.gradient_gap = gradient_gap(plan, run, reference, execution);
  run.to_limit_flow = path_distance(plan, run, reference);
  return run;
}

}  // namespace largo::icl
