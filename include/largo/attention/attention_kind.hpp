// The two kinds of attention. This header does not use Eigen, so that GPU code can include it.
#pragma once

#include <cstdint>

namespace largo {

enum class AttentionKind : std::uint8_t { softmax, linear };

constexpr const char* name_of(AttentionKind attention) {
  return attention == AttentionKind::softmax ? "softmax" : "linear";
}

}  // namespace largo
