// How the kernels draw a prompt.
#pragma once

#include <cstdint>

namespace largo {

enum class PromptKernel : std::uint8_t {
  full,      ///< every coordinate of every token
  collapsed  ///< only what the scores and values depend on; the rest of the prompt in one draw, or
             ///< averaged out exactly
};

/// Precision of the tokens, their scores and weights. Sums over chunks and everything after them are in
/// float64.
enum class TokenPrecision : std::uint8_t { float32, float64 };

}  // namespace largo
