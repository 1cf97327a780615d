// How many tokens of a prompt each component of a mixture has: the interface between host and device.
#pragma once

#include <cstdint>

#include "labels.cuh"

namespace largo::cuda {

/// Addresses are on the device.
struct LabelJob {
  std::uint64_t seed = 0, first_prompt = 0;
  std::int64_t prompts = 0, length = 0;    // `length` counts the tokens of the whole prompt
  std::int64_t first_span = 0, spans = 0;  // spans of kLabelSpan tokens
  std::int32_t components = 0;
  const double* cumulative = nullptr;  // cumulative probabilities
  std::int32_t* counts = nullptr;      // for each prompt, span and component

  bool operator==(const LabelJob&) const = default;
};

/// If a prompt takes several launches, the tokens are counted anew for each of the components.
inline constexpr std::int32_t kMostComponents = 64;

/// Returns an empty text, or what went wrong.
const char* launch_labels(const LabelJob& job, void* stream);

/// The counts of a job for one component.
struct LabelCounts {
  const std::int32_t* counts = nullptr;  // at the first prompt and span; null if all tokens are its own
  std::int64_t first_span = 0, spans = 0;
  std::int32_t components = 0;

  /// Tokens of the component from `token` on, in the span of that token; zero or less if there are none.
  LARGO_HOST_DEVICE std::int64_t left_in_span(std::int64_t prompt, std::int64_t token) const {
    const std::int64_t span = token / prompts::kLabelSpan;
    return counts[(prompt * spans + span - first_span) * components] - token % prompts::kLabelSpan;
  }
};

}  // namespace largo::cuda
