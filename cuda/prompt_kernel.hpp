// Sums over the tokens of many prompts: what host and device tell each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunk_layout.hpp"
#include "draws.cuh"
#include "label_kernel.hpp"
#include "merge_kernel.hpp"
#include "radius.cuh"

namespace largo::cuda {

/// One coordinate of a token that is made of a word, or of a bit of it.
struct Coordinate {
  enum class Kind : std::int32_t { coin, atoms, interval, two_sided };
  Kind kind = Kind::coin;
  std::int32_t index = 0;   // of the coordinate
  std::int32_t word = 0;    // of the token's two
  std::int32_t bit = 0;     // of a coin
  float low = 0, high = 0;  // of a coin; centre and half the width of an interval
  prompts::Atoms atoms = {};
  prompts::TwoSided two_sided = {};
};

/// words: coordinate by coordinate; coins and intervals: all coordinates are alike, in order.
enum class TokenKind : std::int32_t { normal, sphere, words, coins, intervals };

/// What one launch draws: of some prompts, chunks first_chunk, ..., first_chunk + chunks - 1, whose sums are
/// added to those of the chunks before. Addresses are the device's.
struct PromptSlice {
  std::uint64_t seed = 0, first_prompt = 0;
  std::int64_t prompts = 0, length = 0;  // of tokens, in the whole prompt
  std::int64_t first_chunk = 0, chunks = 0;
  LabelCounts labels;              // of the leaf, where a law has several
  double* chunk_sums = nullptr;    // of each prompt and chunk: sums and top
  const double* before = nullptr;  // of each prompt; null for the first chunks
  double* rows = nullptr;          // of each prompt
};

struct PromptChunk {
  std::int64_t prompt, first;  // token
  int count;                   // of tokens: none where a leaf has fewer than it might
};
LARGO_HOST_DEVICE PromptChunk chunk_of(const PromptSlice& slice, std::int64_t item) {
  const std::int64_t prompt = item / slice.chunks;
  const std::int64_t first = (slice.first_chunk + item % slice.chunks) * kSumsChunk;
  const std::int64_t left =
      slice.labels.counts == nullptr ? slice.length - first : slice.labels.left_in_span(prompt, first);
  return {prompt, first, left < 0 ? 0 : left < kSumsChunk ? static_cast<int>(left) : kSumsChunk};
}

inline MergeJob merge_of(const PromptSlice& slice, MergeJob::Kind kind, std::size_t width) {
  return {kind,         slice.prompts, slice.chunks, static_cast<std::int64_t>(width), slice.chunk_sums,
          slice.before, slice.rows};
}

/// How tokens are drawn and what is summed.
struct TokenJob {
  PromptSlice slice;
  TokenKind kind = TokenKind::normal;
  std::int32_t dimension = 1;  // of the sums
  std::int32_t drawn = 1;      // coordinates: more on a sphere
  std::int32_t lanes = 1;
  bool covariance = false;
  std::uint64_t first_lane = 0;
  float low = 0, high = 0;                    // of coordinates that are alike
  const Coordinate* coordinates = nullptr;    // of words, lane by lane
  const std::int32_t* lane_begins = nullptr;  // lanes + 1 of them
  bool has_radius = false;
  RadiusLaw radius;
  const float* directions = nullptr;  // times log2 e
  bool one_direction = true;
};

struct ScoreJob {
  PromptSlice slice;
  std::uint64_t lane = 0;
  const float *rates = nullptr, *shifts = nullptr;  // rates times log2 e
  bool one_rate = true;
};
inline constexpr std::size_t kScoreRow = 8;

/// Both sum the chunks of a slice, then those of each prompt in order. An empty text, or what went wrong.
const char* launch_token_sums(const TokenJob& job, void* stream);
const char* launch_score_sums(const ScoreJob& job, void* stream);

}  // namespace largo::cuda
