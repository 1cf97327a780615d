// Sums over the tokens of many prompts: the interface between host and device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "chunk_layout.hpp"
#include "label_kernel.hpp"
#include "merge_kernel.hpp"
#include "token_law.hpp"

namespace largo::cuda {

/// What one launch draws: chunks first_chunk, ..., first_chunk + chunks - 1 of some prompts, whose sums are
/// added to those of the chunks before. Addresses are on the device.
struct PromptSlice {
  std::uint64_t seed = 0, first_prompt = 0;
  std::int64_t prompts = 0, length = 0;  // `length` counts the tokens of the whole prompt
  std::int64_t first_chunk = 0, chunks = 0;
  LabelCounts labels;              // of the leaf, if the law has several
  double* chunk_sums = nullptr;    // for each prompt and chunk: sums and top
  const double* before = nullptr;  // for each prompt; null for the first chunks
  double* rows = nullptr;          // for each prompt
};

struct PromptChunk {
  std::int64_t prompt, first;  // `first` is a token
  int count;                   // number of tokens; none if a leaf has fewer than it might
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
struct TokenJob : TokenLaw {
  PromptSlice slice;
  bool covariance = false;
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

/// Both sum the chunks of a slice, then those of each prompt in order. The result is empty, or what failed.
const char* launch_token_sums(const TokenJob& job, void* stream);
const char* launch_score_sums(const ScoreJob& job, void* stream);

}  // namespace largo::cuda
