// How many tokens of a prompt each component of a mixture has: what host and device tell each other.
#pragma once

#include <cstdint>

#include "labels.cuh"

namespace largo::cuda {

/// Addresses are the device's.
struct LabelJob {
  std::uint64_t seed = 0, first_prompt = 0;
  std::int64_t prompts = 0, length = 0;    // of tokens, in the whole prompt
  std::int64_t first_span = 0, spans = 0;  // of kLabelSpan tokens
  std::int32_t components = 0;
  const double* cumulative = nullptr;  // probabilities
  std::int32_t* counts = nullptr;      // of each prompt, span and component

  bool operator==(const LabelJob&) const = default;
};

/// They are counted for each of the components anew, where a prompt takes several launches.
inline constexpr std::int32_t kMostComponents = 64;

/// An empty text, or what went wrong.
const char* launch_labels(const LabelJob& job, void* stream);

/// What a job has counted for one component.
struct LabelCounts {
  const std::int32_t* counts = nullptr;  // of the first prompt and span; null: all tokens are the component's
  std::int64_t first_span = 0, spans = 0;
  std::int32_t components = 0;

  /// Tokens of the component from `token` on, in the span of that token: zero or less where there are none.
  LARGO_HOST_DEVICE std::int64_t left_in_span(std::int64_t prompt, std::int64_t token) const {
    const std::int64_t span = token / prompts::kLabelSpan;
    return counts[(prompt * spans + span - first_span) * components] - token % prompts::kLabelSpan;
  }
};

}  // namespace largo::cuda
