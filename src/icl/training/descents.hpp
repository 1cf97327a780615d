// Begins the descents of a plan, takes them to their ends on threads or on a device, and evaluates them.
#pragma once

#include <functional>
#include <vector>

#include "icl/training/training_state.hpp"

namespace largo::icl {

/// Puts a descent at its start, or where its checkpoint left it. Here and below, `plan` is that of its seed.
void begin_descent(const TrainingPlan& plan, TrainingState& state);

/// Takes a descent to its end on this thread.
void descend_here(const TrainingPlan& plan, TrainingState& state,
                  const std::function<void(double share)>& progress, const Execution& execution);

/// Takes all these descents to their ends at once; they differ only in lengths, kinds of attention and seeds.
void descend_on_device(const TrainingPlan& plan, const std::vector<TrainingState*>& states,
                       const std::function<void(double share)>& progress, const Execution& execution);

/// The result of a descent that is at its end.
TrainingRun descent_run(const TrainingPlan& plan, TrainingState& state);

}  // namespace largo::icl
