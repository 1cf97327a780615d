// A name for the course of a descent, for its checkpoint.
#pragma once

#include <cstdint>

#include "largo/icl/regression_training.hpp"

namespace largo {

/// 64 bits of all that decides the course of a descent (FNV-1a over the bytes of its numbers).
std::uint64_t descent_fingerprint(const TrainingPlan& plan, AttentionKind attention, double L);

}  // namespace largo
