// The two kinds of attention. A header without Eigen: GPU code reads it, too.
#pragma once

#include <cstdint>

namespace largo {

enum class AttentionKind : std::uint8_t { softmax, linear };

}  // namespace largo
