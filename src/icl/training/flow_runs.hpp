// Flows of a training plan, and the flow of the infinite prompt with which they are compared.
#pragma once

#include <functional>
#include <memory>

#include "largo/icl/training/training_plan.hpp"

namespace largo::icl {

/// The map from the coordinates of a flow's path to (U, v); on the invariant set these are those of
/// flow_parameters().
std::shared_ptr<const ParameterMap> map_of_flow(const TrainingPlan& plan);

/// The flow of the infinite prompt: exact, and as an average over the nodes of flows of finite prompts, which
/// are compared with it. (Flows of short prompts have more nodes, but are so far from the limit that it does
/// not matter.) On the invariant set both are the same.
struct LimitFlows {
  TrainingRun exact, over_nodes;
};
/// `show` is called with the share that is done, for another problem only.
using ShowFlow = std::function<void(double share)>;
LimitFlows limit_flows(const TrainingPlan& plan, const ShowFlow& show, const Execution& execution);

/// The flow at length L, with its distance from the limit.
TrainingRun flow_run(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                     const LimitFlows& limits, const ShowFlow& show, const Execution& execution);

/// Fills in final_risk and record_error of a flow and, if it was over nodes, the risks and gradients of its
/// records: see TrainingRun.
void look_at_records(const TrainingPlan& plan, TrainingRun& run, const Execution& execution);

/// The flow on another problem, without its distance from the limit: see TrainingRun for its risks and
/// errors.
TrainingRun flow_over_draws(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                            const ShowFlow& show, const Execution& execution);

}  // namespace largo::icl
