// How the kernels draw a prompt.
#pragma once

#include <cstdint>

namespace largo {

enum class PromptKernel : std::uint8_t {
  full,      ///< every coordinate of every token
  collapsed  ///< only what the scores and values see; the rest of the prompt in one go, or averaged out
             ///< exactly
};

/// Of the tokens, their scores and weights; sums over chunks and all that follows are in float64.
enum class TokenPrecision : std::uint8_t { float32, float64 };

}  // namespace largo
