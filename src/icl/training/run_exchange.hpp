// Training runs of all processes, on every process.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/icl/training/training_plan.hpp"

namespace largo {

/// Which parts of a run are exchanged: its path, its end and its distance from the limit; or how it lies
/// beside the flow at its length.
enum class RunPart : std::uint8_t { course, beside_flow };

/// Run i of `runs` is that of process owners[i]: afterwards all processes have that part of it. L, attention,
/// method, seed and the map of a run are not sent: a process knows them.
void exchange_runs(std::vector<TrainingRun>& runs, const std::vector<int>& owners, RunPart part,
                   const Execution& execution);

/// InputError on all processes unless all have the same plan.
void check_same_on_all(const TrainingPlan& plan, const Execution& execution);

// Names for the course of a descent, for its checkpoint, and for a whole plan.

/// 64 bits of all that decides the course of a descent (FNV-1a over the bytes of its numbers).
std::uint64_t descent_fingerprint(const TrainingPlan& plan, AttentionKind attention, double L);

/// 64 bits of all that decides the results of train(): what processes that share a plan must agree on. Step
/// sizes are looked at in 16 places, and random starts at the last seed.
std::uint64_t plan_fingerprint(const TrainingPlan& plan);

}  // namespace largo
