// Tokens of a law, drawn a chunk at a time, coordinate by coordinate: the interface.
//
// What a source draws for token t of a prompt depends on (seed, prompt, t) and on the lanes it was given
// alone. A lane is a range of 2^40 Philox counters of the prompt's stream and holds two words for each token.
#pragma once

#include <cstddef>
#include <cstdint>

#include "prompts/prompt_layout.hpp"

namespace largo {

/// Prompts may have this many tokens, and sources this many lanes in all.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
inline constexpr std::uint64_t kMostLanes = std::uint64_t{1} << 20;

/// The counters of a lane for the tokens from `first_token` on, a multiple of kTokensAtOnce.
inline DrawAddress lane_address(std::uint64_t seed, std::uint64_t prompt, std::uint64_t lane,
                                std::uint64_t first_token) {
  return {seed, prompt, lane * kLaneCounters + first_token / kTokensAtOnce * kCountersAtOnce};
}

template <typename T>
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Tokens first_token, ..., first_token + count - 1 (first_token a multiple of eight, count <=
  /// kChunkTokens) of the prompt: coordinate j of the i-th at tokens[kChunkTokens j + i], and finite numbers
  /// up to the next multiple of eight. Scratch memory is kept: one source for each thread.
  virtual void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
                    T* tokens) = 0;
};

}  // namespace largo
