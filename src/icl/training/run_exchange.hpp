// Gives every process the training runs of all processes.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/icl/training/training_plan.hpp"

namespace largo::icl {

/// Which part of a run is exchanged: its path, its end and its distance from the limit; or how it compares
/// with the flow at its length.
enum class RunPart : std::uint8_t { course, beside_flow };

/// Run i of `runs` belongs to process owners[i]; afterwards all processes have that part of it. L, attention,
/// method, seed and the map of a run are not sent, since every process knows them.
void exchange_runs(std::vector<TrainingRun>& runs, const std::vector<int>& owners, RunPart part,
                   const Execution& execution);

/// InputError on all processes unless all have the same plan.
void check_same_on_all(const TrainingPlan& plan, const Execution& execution);

}  // namespace largo::icl
