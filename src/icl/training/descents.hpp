// The descents of a plan: begun, taken to their ends on threads or on a device, and looked at.
#pragma once

#include <functional>
#include <vector>

#include "icl/training/training_state.hpp"

namespace largo::icl {

/// Puts a descent at its start, or where its checkpoint left it. `plan` is that of its seed, here and below.
void begin_descent(const TrainingPlan& plan, TrainingState& state);

/// Takes a descent to its end on this thread.
void descend_here(const TrainingPlan& plan, TrainingState& state,
                  const std::function<void(double share)>& progress, const Execution& execution);

/// Takes all these descents to their ends at once; they differ in lengths, kinds of attention and seeds
/// alone.
void descend_on_device(const TrainingPlan& plan, const std::vector<TrainingState*>& states,
                       const std::function<void(double share)>& progress, const Execution& execution);

/// What a descent that is at its end has found.
TrainingRun descent_run(const TrainingPlan& plan, TrainingState& state);

}  // namespace largo::icl
