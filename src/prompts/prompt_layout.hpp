// The layout of the draws and sums of a prompt. CPU and GPU share it, so that both give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "random/float_draws.hpp"

namespace largo::prompts {

/// Number of counters in a lane of a prompt.
inline constexpr std::uint64_t kLaneCounters = std::uint64_t{1} << 40;
/// Number of coordinates per lane that are coins: a token has 64 bits in a lane.
inline constexpr std::size_t kCoinsPerLane = 64;
inline constexpr std::size_t kMostAtoms = 4;

/// The lane that assigns each token to a component of a mixture, and the number of tokens that are assigned
/// at a time: large enough for each component to fill chunks.
inline constexpr std::uint64_t kLabelLane = 0;
inline constexpr std::int64_t kLabelSpan = std::int64_t{1} << 14;

/// Number of tokens whose sums stay in float32: for tokens in full and for scores, and for collapsed prompts.
inline constexpr std::size_t kChunkTokens = 256;
inline constexpr std::size_t kCollapsedChunk = 512;

/// Number of prompts of a batch whose gradients are summed one after the other; the sums of these blocks are
/// added in order.
inline constexpr int kPromptsInBlock = 8;
/// First counters of the draws of a prompt of a batch that are not tokens, far from those of the tokens:
/// first task and query, then the part of a collapsed prompt orthogonal to its frame; and the Wishart matrix
/// that takes the place of the tokens under linear attention.
inline constexpr std::uint64_t kPromptDraws = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kMatrixDraws = std::uint64_t{1} << 63;
/// Largest number of tokens under linear attention: integers up to here are exact in type double.
inline constexpr std::int64_t kMostLinear = std::int64_t{1} << 53;

/// Streams for the tasks and queries of prompts of other laws than Gaussian ones, so that those of many
/// prompts are drawn together. In stream kTaskStreams + ⌊i / kTasksInStream⌋, prompt i takes the tokens r j,
/// ..., r j + r - 1 of each law, where j = i modulo kTasksInStream and r is the number of tokens that it
/// needs: one, or one for each row of the prior, up to kMostTaskTokens.
inline constexpr std::uint64_t kTaskStreams = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kTasksInStream = std::uint64_t{1} << 28;
inline constexpr std::uint64_t kMostTaskTokens = 4096;
/// The number of this layout: checkpoints of descents with another one are not resumed.
inline constexpr int kTaskLayout = 2;
/// Where one normal per token is drawn by itself, tokens 64 b + t and 64 b + 32 + t share a pair, t < 32.
inline constexpr std::size_t kSharedPairs = 32;

/// How a prompt of regression draws the noise of its labels beside the covariates.
enum class NoiseDraws : std::uint8_t {
  lanes,   ///< in lanes of its own, as any law
  spare,   ///< one normal, the one to spare where covariates take an odd number of normals
  shared,  ///< one normal, in a lane in which two tokens share a pair (kSharedPairs)
};

/// Largest score, in units of ln 2.
inline constexpr double kLargestScore = 1e12;
/// For the scores of collapsed prompts: the largest standard deviation, and the rate up to which weights need
/// no reference because they are within 2^±50.25 for all draws.
inline constexpr double kLargestSpread = 1e11;
inline constexpr double kFixedRate = 7.5;

}  // namespace largo::prompts
