// Softmax-weighted sums over the tokens of a given prompt, a piece of it at a time: what host and device tell
// each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace largo::cuda {

/// A piece of a prompt. Tokens are rows of `dimension` numbers, float32 or the upper halves of such
/// (bfloat16). Addresses are the device's.
struct GivenJob {
  const void* tokens = nullptr;
  bool halves = false;
  std::int32_t dimension = 1;
  std::int64_t length = 0;            // of the piece
  const float* centre = nullptr;      // subtracted from every token
  const float* directions = nullptr;  // times log2 e, one after the other
  std::int32_t directions_count = 1;
  bool covariance = false;
  double* parts = nullptr;         // of each direction and segment: sums and top
  const double* before = nullptr;  // of each direction: those of the pieces before; null for the first
  double* rows = nullptr;          // of each direction: with this piece
};

/// Tokens that a warp sums before others are added: pieces are made of whole segments, and then sums do not
/// depend on how long the pieces are.
inline constexpr std::int64_t kGivenSegment = 16 * 256;
constexpr std::int64_t given_segments(std::int64_t length) {
  return (length + kGivenSegment - 1) / kGivenSegment;
}

/// Sums and top of each direction, in the order of TokenSums. An empty text, or what went wrong.
const char* launch_given_sums(const GivenJob& job, void* stream);

}  // namespace largo::cuda
