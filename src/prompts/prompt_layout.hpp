// How the draws and sums of a prompt are laid out. CPU and GPU read these, so that both have the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "random/float_draws.hpp"

namespace largo::prompts {

/// Counters of a lane of a prompt.
inline constexpr std::uint64_t kLaneCounters = std::uint64_t{1} << 40;
/// Coordinates that are coins, from the 64 bits that a token has in a lane.
inline constexpr std::size_t kCoinsPerLane = 64;
inline constexpr std::size_t kMostAtoms = 4;

/// The lane that says which component of a mixture a token belongs to, and the tokens that are shared out at
/// a time: long enough for each component to fill chunks.
inline constexpr std::uint64_t kLabelLane = 0;
inline constexpr std::int64_t kLabelSpan = std::int64_t{1} << 14;

/// Tokens whose sums stay in float32: of tokens in full and of scores, and of collapsed prompts.
inline constexpr std::size_t kChunkTokens = 256;
inline constexpr std::size_t kCollapsedChunk = 512;

/// Prompts of a batch whose gradients are summed one after the other; the sums of blocks are added in order.
inline constexpr int kPromptsInBlock = 8;
/// Draws of a prompt of a batch beside its tokens, far from theirs: task and query, then what lies across a
/// collapsed prompt; and those of a Wishart matrix, which takes the place of the tokens under linear
/// attention.
inline constexpr std::uint64_t kPromptDraws = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kMatrixDraws = std::uint64_t{1} << 63;
/// Tokens under linear attention: whole numbers of type double.
inline constexpr std::int64_t kMostLinear = std::int64_t{1} << 53;

/// In units of ln 2.
inline constexpr double kLargestScore = 1e12;
/// Of the scores of collapsed prompts: standard deviation; and the rate up to which weights need no
/// reference, since they are within 2^±50.25, whatever the draws are.
inline constexpr double kLargestSpread = 1e11;
inline constexpr double kFixedRate = 7.5;

}  // namespace largo::prompts
