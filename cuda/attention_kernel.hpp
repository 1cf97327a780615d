// Softmax-weighted sums over the tokens of a given prompt: what host and device tell each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace largo::cuda {

/// Tokens are rows of `dimension` numbers, float32 or the upper halves of such (bfloat16). Addresses are the
/// device's.
struct GivenJob {
  const void* tokens = nullptr;
  bool halves = false;
  std::int32_t dimension = 1;
  std::int64_t length = 0;
  const float* centre = nullptr;      // subtracted from every token
  const float* directions = nullptr;  // times log2 e, one after the other
  std::int32_t directions_count = 1;
  bool covariance = false;
  double* parts = nullptr;  // of each direction and segment: sums and top
  double* rows = nullptr;   // of each direction
};

/// Tokens that a warp sums before it writes anything, and how many pieces the prompt has then.
inline constexpr std::int64_t kGivenSegment = 64 * 256;
constexpr std::int64_t given_segments(std::int64_t length) {
  return (length + kGivenSegment - 1) / kGivenSegment;
}

/// Sums and top of each direction, in the order of TokenSums. An empty text, or what went wrong.
const char* launch_given_sums(const GivenJob& job, void* stream);

}  // namespace largo::cuda
