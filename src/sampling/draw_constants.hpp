// What decides which draws a prompt has and in which order they are summed: one definition for CPU and GPU,
// whose bits are the same.
#pragma once

#include <cstdint>

namespace largo {

/// Under linear attention a Wishart matrix takes the place of tokens, and lengths are numbers of type double.
inline constexpr std::int64_t kMostLinear = std::int64_t{1} << 53;

/// Tokens of a collapsed prompt whose sums stay in float32.
inline constexpr int kCollapsedChunk = 512;
/// Up to this rate weights need no reference: whatever the draws, they are within 2^±50.25.
inline constexpr double kFixedRate = 7.5;
/// Of scores.
inline constexpr double kLargestSpread = 1e11;
/// One token that has nothing along the scores, under linear attention: its share is divided by.
inline constexpr double kSmallestShare = 1e-40;

/// Prompts of a batch whose gradients are summed one after the other; the sums of blocks are added in order.
inline constexpr int kPromptsInBlock = 8;
/// Draws of a prompt beside its tokens, far from theirs: task and query, then what lies across a collapsed
/// prompt; and those of a Wishart matrix, in place of the tokens, its uniforms so many counters behind its
/// normals.
inline constexpr std::uint64_t kPromptDraws = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kMatrixDraws = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kUniforms = std::uint64_t{1} << 32;

}  // namespace largo
