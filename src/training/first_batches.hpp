// The scale by which the divergence of a descent is judged, on CPU and GPU.
#pragma once

#include <cstdint>

namespace largo::training {

/// A loss is too large relative to the largest of this many first batches: one may be small by chance, but
/// not the largest of several.
inline constexpr std::int64_t kFirstBatches = 16;

}  // namespace largo::training
