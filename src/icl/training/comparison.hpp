// How far apart runs are, and how far a descent stays above the flow that it follows.
#pragma once

#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/execution.hpp"

namespace largo::icl {

/// Whether descents have the clock of the flow; momentum and Adam have another.
bool is_comparable(const TrainingPlan& plan);

/// The distance up to the end of the shorter path. A path that is stationary at its end stays there, and then
/// the end of the longer one counts. Evaluated at the steps of both.
PathDistance path_distance(const TrainingPlan& plan, const TrainingRun& one, const TrainingRun& two);

/// Fills in how a descent compares with the flow at its length: distance, noise and predicted noise.
void compare_with_flow(const TrainingPlan& plan, TrainingRun& run, const TrainingRun& flow,
                       const Execution& execution);

}  // namespace largo::icl
