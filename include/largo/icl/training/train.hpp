// Training of in-context regression: flows and stochastic descents, from one start, at many lengths.
#pragma once

#include <vector>

#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// One run for each method, kind of attention, length and seed (flows on the invariant set: one for all
/// seeds); descents at finite whole lengths only. Runs do not depend on each other, and share the threads;
/// those of a seed are what train(plan_of_seed()) has, to the bit, with the same checkpoints. On a device all
/// descents run together; with ranks, each process makes the runs that are dealt to it, and saves them, and
/// all have the results of all. Errors: gradient_flow, descend; Stopped when stopped.
std::vector<TrainingRun> train(const TrainingPlan& plan, const Execution& execution = {});

}  // namespace largo
