// Softmax-weighted sums over a given prompt, one piece at a time: the interface between host and device.
#pragma once

#include <cstddef>
#include <cstdint>

namespace largo::cuda {

/// A piece of a prompt. Tokens are rows of `dimension` numbers, in float32 or the upper halves of float32
/// (bfloat16). Addresses are on the device.
struct GivenJob {
  const void* tokens = nullptr;
  bool halves = false;
  std::int32_t dimension = 1;
  std::int64_t length = 0;            // tokens in the piece
  const float* centre = nullptr;      // subtracted from every token
  const float* directions = nullptr;  // times log2 e, one after another
  std::int32_t directions_count = 1;
  bool covariance = false;
  double* parts = nullptr;         // for each direction and segment: sums and top
  const double* before = nullptr;  // for each direction: sums of the pieces before; null for the first
  double* rows = nullptr;          // for each direction: sums including this piece
};

/// Tokens that a warp sums before others are added. Pieces consist of whole segments, so that sums do not
/// depend on the length of the pieces.
inline constexpr std::int64_t kGivenSegment = 16 * 256;
constexpr std::int64_t given_segments(std::int64_t length) {
  return (length + kGivenSegment - 1) / kGivenSegment;
}

/// Computes sums and top of each direction, ordered as in TokenSums. Returns an empty text, or what failed.
const char* launch_given_sums(const GivenJob& job, void* stream);

}  // namespace largo::cuda
