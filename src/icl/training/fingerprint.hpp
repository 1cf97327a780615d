// Names for the course of a descent (for its checkpoint) and for a whole plan.
#pragma once

#include <cstdint>

#include "largo/icl/training/training_plan.hpp"

namespace largo::icl {

/// A 64-bit hash of everything that decides the course of a descent (FNV-1a over the bytes of its numbers).
std::uint64_t descent_fingerprint(const TrainingPlan& plan, AttentionKind attention, const LengthLaw& L);

/// A 64-bit hash of everything that decides the results of train(), on which processes that share a plan must
/// agree. Step sizes are sampled at 16 places, and random starts at the last seed.
std::uint64_t plan_fingerprint(const TrainingPlan& plan);

}  // namespace largo::icl
