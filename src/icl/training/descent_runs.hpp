// Descents of a training plan: from where they start or were saved, on threads or a device, to a run.
#pragma once

#include <vector>

#include "icl/training/descent_engine.hpp"
#include "largo/icl/training/training_plan.hpp"

namespace largo {

/// A descent of a plan: `plan` is that of its seed alone.
struct PlannedDescent {
  const TrainingPlan* plan = nullptr;
  double L = 1;
  EngineDescent descent = {};
};

/// At its start, or where its checkpoint has it.
PlannedDescent prepare_descent(const TrainingPlan& plan, AttentionKind attention, double L);

/// Takes all descents to their ends, at once; they differ in lengths, kinds of attention and seeds alone.
void descend_on_device(std::vector<PlannedDescent*> descents,
                       const std::function<void(double share)>& progress, const Execution& execution);

/// Takes the descent to its end on this thread (one that a device has run is there), and looks at it.
TrainingRun descent_run(PlannedDescent& planned, const std::function<void(double share)>& progress,
                        const Execution& execution);

}  // namespace largo
