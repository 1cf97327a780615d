// Names for the course of a descent, for its checkpoint, and for a whole plan.
#pragma once

#include <cstdint>

#include "largo/icl/training/training_plan.hpp"

namespace largo::icl {

/// 64 bits of all that decides the course of a descent (FNV-1a over the bytes of its numbers).
std::uint64_t descent_fingerprint(const TrainingPlan& plan, AttentionKind attention, double L);

/// 64 bits of all that decides the results of train(): what processes that share a plan must agree on. Step
/// sizes are looked at in 16 places, and random starts at the last seed.
std::uint64_t plan_fingerprint(const TrainingPlan& plan);

}  // namespace largo::icl
