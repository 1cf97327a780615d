// Normals of two blocks of 32 tokens, drawn by the eight threads of an octet.
#pragma once

#include "collapsed.cuh"
#include "draws.cuh"

namespace largo::cuda {

/// The words that a lane has in two blocks: from two counters of radii and one of angles. Neighbours read the
/// same counters, so threads of even lanes draw those of the first block and threads of odd lanes those of
/// the second, and each hands its neighbour the words that it does not need.
struct TwoBlocks {
  std::uint32_t words[2][3][2];

  /// The blocks begin at counter `first` of the address; `mask` has the threads of the octet.
  __device__ void draw(const Address& at, std::uint64_t first, int lane, unsigned mask) {
    const int j = lane / 2, k = lane % 2;
    const std::uint64_t counter = first + static_cast<std::uint64_t>(k * random::kBlockCounters + j);
    LARGO_UNROLL
    for (int c = 0; c < 3; ++c) {
      const Words mine = philox(at, counter + static_cast<std::uint64_t>(4 * c));
      LARGO_UNROLL
      for (int w = 0; w < 2; ++w) {
        const std::uint32_t kept = k == 0 ? mine.word[w] : mine.word[2 + w];
        const std::uint32_t got = __shfl_xor_sync(mask, k == 0 ? mine.word[2 + w] : mine.word[w], 1, kLanes);
        words[0][c][w] = k == 0 ? kept : got;
        words[1][c][w] = k == 0 ? got : kept;
      }
    }
  }

  /// The normals of token 8v + lane of block b.
  __device__ Pair<float> normals_of(int b, int v) const {
    return normals(words[b][v / 2][v % 2], angle_of(words[b][2][v / 2], v));
  }
};

}  // namespace largo::cuda
