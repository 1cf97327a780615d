// The meaning of the parts of a training plan: its parameters, risks and nodes.
#pragma once

#include <limits>
#include <memory>

#include "largo/icl/training/training_plan.hpp"

namespace largo::icl {

/// The length of the infinite prompt.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The map from the trained parameters to (U, v), or (U, V).
std::shared_ptr<const ParameterMap> map_of(const TrainingPlan& plan);

/// A point of a run's path in trained parameters: flows on the invariant set have their own coordinates.
Vector parameters_of(const TrainingPlan& plan, const TrainingRun& run, const Vector& point);

/// R_L in the trained parameters; for softmax attention off the invariant set, over the nodes for every L;
/// for another problem, over its draws.
std::shared_ptr<const Risk> risk_of(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                                    const TaskNodes& nodes, const Execution& execution);

/// Batches of a descent in the trained parameters.
std::shared_ptr<const StochasticRisk> batches_of(const TrainingPlan& plan, const RegressionBatches& batches);

/// What the batches of a descent on another problem draw.
PromptSetting descent_prompts(const TrainingPlan& plan, const RegressionBatches& batches);

/// The risk at the end of a run, the best that is known.
Estimate end_risk(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                  const RegressionParameters& head, const Execution& execution);

/// The setting of another problem's draws. Flows, descents and risks at ends have draws of their own.
enum class DrawsOf : std::uint8_t { flow, descent, end };
PromptSetting setting_of(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L,
                         DrawsOf draws);

/// Nodes for the first and the second half of a flow's time, and for risks at ends.
TaskNodes early_nodes(const TrainingPlan& plan, const LengthLaw& L);
TaskNodes late_nodes(const TrainingPlan& plan, const LengthLaw& L);
TaskNodes final_nodes(const TrainingPlan& plan);

}  // namespace largo::icl
