#include "icl/training/plan_parts.hpp"

#include <algorithm>

#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_maps.hpp"

namespace largo::icl {
namespace {

constexpr std::int64_t kLateNodes = 4;  // times the early ones
// Scores learnt over ten tokens are so large that the usual nodes would leave an error of 2e-4 of the risk.
constexpr double kShort = 16;
constexpr std::int64_t kNodesOfShort = 2;  // times those of the plan
constexpr std::int64_t kFinalNodes = 32;   // likewise
constexpr std::int64_t kMostNodes = std::int64_t{1} << 20;

}  // namespace

std::shared_ptr<const ParameterMap> map_of(const TrainingPlan& plan) {
  return map_of(plan.parameters, plan.problem.dimension());
}

Vector parameters_of(const TrainingPlan& plan, const TrainingRun& run, const Vector& point) {
  if (plan.parameters != Parametrisation::invariant) return point;
  const Vector merged = run.map->map(point);
  return invariant_map(plan.problem.dimension())->pull_back(merged, merged);  // the inverse on that set
}

std::shared_ptr<const Risk> risk_of(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                                    const TaskNodes& nodes, const Execution& execution) {
  if (plan.parameters == Parametrisation::invariant) return invariant_risk(plan.problem, attention, L);
  const bool softmax = attention == AttentionKind::softmax;
  return in_parameters(softmax ? softmax_risk_over_nodes(plan.problem, L, nodes, execution)
                               : general_risk(plan.problem, attention, L, nodes, execution),
                       map_of(plan));
}

TaskNodes early_nodes(const TrainingPlan& plan, const LengthLaw& L) {
  return {(L.shortest() < kShort ? kNodesOfShort : 1) * plan.nodes.count, plan.nodes.seed};
}

TaskNodes late_nodes(const TrainingPlan& plan, const LengthLaw& L) {
  return {std::min(kLateNodes * early_nodes(plan, L).count, kMostNodes), plan.nodes.seed};
}

TaskNodes final_nodes(const TrainingPlan& plan) {
  return {std::min(kFinalNodes * plan.nodes.count, kMostNodes), plan.nodes.seed};
}

}  // namespace largo::icl
