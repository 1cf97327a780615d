// Training of in-context regression by flows and stochastic descents, from one start, at many lengths.
#pragma once

#include <vector>

#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// Makes one run for each method, kind of attention, length and seed (for flows on the invariant set, one for
/// all seeds). Descents run at finite whole lengths only. Runs are independent of each other and share the
/// threads; those of a seed are bit-identical to the runs of train(plan_of_seed()), with the same
/// checkpoints. On a device all descents run together. With ranks, each process makes and saves the runs
/// assigned to it, and all processes get all results. Errors: those of gradient_flow and descend; Stopped
/// when stopped.
std::vector<TrainingRun> train(const TrainingPlan& plan, const Execution& execution = {});

}  // namespace largo
