#include "icl/training/plan_parts.hpp"

#include <algorithm>

#include "icl/training/descent_engine.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/runtime/check.hpp"

namespace largo::icl {
namespace {

constexpr std::int64_t kLateNodes = 4;  // times the early ones
// Scores learnt over ten tokens are so large that the usual nodes would leave an error of 2e-4 of the risk.
constexpr double kShort = 16;
constexpr std::int64_t kNodesOfShort = 2;  // times those of the plan
constexpr std::int64_t kFinalNodes = 32;   // likewise
constexpr std::int64_t kMostNodes = std::int64_t{1} << 20;
// Seeds of draws that have nothing in common; the next seeds belong to other runs.
constexpr std::uint64_t kSeedApart = 0x9e3779b97f4a7c15;

}  // namespace

std::shared_ptr<const ParameterMap> map_of(const TrainingPlan& plan) {
  if (!plan.other) return map_of(plan.parameters, plan.problem.dimension());
  const PromptTask& task = *plan.other->task;
  const Eigen::Index d = task.token_dimension(), e = task.query_dimension(), m = task.output_dimension();
  if (plan.parameters == Parametrisation::merged) return identity_map(d * e + m * d);
  if (d != e || m != 1 || d < 2) {
    fail("train", "parameters", "invariant or factored",
         "merged for several outputs, or where tokens and queries differ in size");
  }
  return map_of(plan.parameters, d - 1);
}

Vector parameters_of(const TrainingPlan& plan, const TrainingRun& run, const Vector& point) {
  if (plan.parameters != Parametrisation::invariant || plan.other) return point;
  const Vector merged = run.map->map(point);
  return invariant_map(plan.problem.dimension())->pull_back(merged, merged);  // the inverse on that set
}

std::shared_ptr<const Risk> risk_of(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                                    const TaskNodes& nodes, const Execution& execution) {
  if (plan.other) {
    const PromptSetting setting = setting_of(plan, attention, L, DrawsOf::flow);
    return in_parameters(std::make_shared<const PromptRisk>(setting, plan.prompts, execution), map_of(plan));
  }
  if (plan.parameters == Parametrisation::invariant) return invariant_risk(plan.problem, attention, L);
  const bool softmax = attention == AttentionKind::softmax;
  return in_parameters(softmax ? softmax_risk_over_nodes(plan.problem, L, nodes, execution)
                               : general_risk(plan.problem, attention, L, nodes, execution),
                       map_of(plan));
}

PromptSetting descent_prompts(const TrainingPlan& plan, const RegressionBatches& batches) {
  TrainingPlan seeded = plan;
  seeded.batches.seed = batches.seed;
  const LengthLaw L = batches.random_length ? *batches.random_length : static_cast<double>(batches.length);
  return setting_of(seeded, batches.attention, L, DrawsOf::descent);
}

std::shared_ptr<const StochasticRisk> batches_of(const RegressionProblem& problem,
                                                 const RegressionDescent& run) {
  if (!run.prompts) return regression_batches(problem, run.batches);
  return std::make_shared<const PromptBatches>(*run.prompts, run.batches.prompts, run.batches.execution);
}

std::shared_ptr<const StochasticRisk> batches_of(const TrainingPlan& plan, const RegressionBatches& batches) {
  RegressionDescent run{batches};
  if (plan.other) run.prompts = descent_prompts(plan, batches);
  return in_parameters(batches_of(plan.problem, run), map_of(plan));
}

Estimate end_risk(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                  const RegressionParameters& head, const Execution& execution) {
  if (!plan.other) {
    return regression_risk(plan.problem, attention, L, head, final_nodes(plan), execution);
  }
  // Used once, so the prompts are not held.
  const PromptRisk risk(setting_of(plan, attention, L, DrawsOf::end), kDrawsAtEnds * plan.prompts, execution,
                        0);
  Vector values(head.U.size() + head.v.size());
  values << head.U.reshaped(), head.v;
  const RiskPoint point = risk.at(values);
  return {point.value, point.error};
}

PromptSetting setting_of(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                         DrawsOf draws) {
  const InContextProblem& problem = *plan.other;
  PromptSetting setting{problem.task, problem.loss, L, attention, problem.score_scale};
  setting.seed = plan.batches.seed + static_cast<std::uint64_t>(draws) * kSeedApart;
  if (draws == DrawsOf::flow) setting.sampling = plan.sampling;
  return setting;
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
