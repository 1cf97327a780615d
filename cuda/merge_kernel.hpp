// Sums over the parts of a prompt, added in order: what host and device tell each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace largo::cuda {

/// The top of a row that no token has gone into: no score has it, being of float32.
inline constexpr double kNoTokens = 0x1p1000;

/// Addresses are the device's. Rows end with the power of two that their sums are relative to.
struct MergeJob {
  /// tokens: rows of TokenSums; bounded_tokens: and scores beyond those that the CPU takes leave the row with
  /// them for a top, for who reads it to refuse; scores: of ScoreSums.
  enum class Kind : std::int32_t { tokens, bounded_tokens, scores };
  Kind kind = Kind::tokens;
  std::int64_t prompts = 0, parts = 0, width = 0;
  const double* from = nullptr;    // a row for each prompt and part
  const double* before = nullptr;  // of each prompt: the sums of the parts before these; null: there are none
  double* rows = nullptr;          // of each prompt: with these
};

/// An empty text, or what went wrong.
const char* launch_merge(const MergeJob& job, void* stream);

}  // namespace largo::cuda
