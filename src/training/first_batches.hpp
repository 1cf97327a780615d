// By what the divergence of a descent is measured, on CPU and GPU.
#pragma once

#include <cstdint>

namespace largo::training {

/// A loss is too large beside the largest of so many first batches: one may be small by chance, the largest
/// of some is not.
inline constexpr std::int64_t kFirstBatches = 16;

}  // namespace largo::training
