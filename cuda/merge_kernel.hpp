// Sums over the parts of a prompt, added in order: the interface between host and device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace largo::cuda {

/// The top of a row to which no token has been added; no score equals it, since scores are float32.
inline constexpr double kNoTokens = 0x1p1000;

/// Addresses are on the device. Each row ends with the power of two that its sums are relative to.
struct MergeJob {
  /// tokens: rows of TokenSums; bounded_tokens: the same, but a score beyond the CPU's limit becomes the top
  /// of its row, so that the reader can refuse it; scores: rows of ScoreSums.
  enum class Kind : std::int32_t { tokens, bounded_tokens, scores };
  Kind kind = Kind::tokens;
  std::int64_t prompts = 0, parts = 0, width = 0;
  const double* from = nullptr;    // a row for each prompt and part
  const double* before = nullptr;  // for each prompt: sums of the parts before these; null if none
  double* rows = nullptr;          // for each prompt: the sums including these
};

/// Returns an empty text, or what went wrong.
const char* launch_merge(const MergeJob& job, void* stream);

}  // namespace largo::cuda
