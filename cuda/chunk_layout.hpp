// How a warp lays out a chunk of tokens in shared memory, how many coordinates fit there, and how the sums
// over tokens are arranged in a row.
#pragma once

#include <cstddef>

#include "collapsed.cuh"

namespace largo::cuda {

inline constexpr int kWarp = 32;
// Numbers from one coordinate to the next: 8 more after every 32 tokens, and between rows, so that neither
// the threads that draw nor those that sum have bank conflicts.
inline constexpr int kRow = kSumsChunk + kSumsChunk / 4 + 8;

/// A row for each coordinate drawn, a row of weights, and the direction.
constexpr int chunk_floats(int drawn, int dimension) { return (drawn + 1) * kRow + (dimension + 3) / 4 * 4; }
constexpr int chunk_bytes(int drawn, int dimension) {
  return chunk_floats(drawn, dimension) * static_cast<int>(sizeof(float));
}

/// The largest dimension of tokens for which a block's shared memory holds a chunk, at most
/// kMostTokenNumbers.
inline constexpr int kMostTokenNumbers = 160;
constexpr int most_token_numbers(int shared_bytes) {
  int most = 0;
  while (most < kMostTokenNumbers && chunk_bytes(most + 1, most + 1) <= shared_bytes) ++most;
  return most;
}

/// Numbers in a row of sums: Σ w, Σ w², Σ w x, if asked for Σ w x xᵀ (entries 0, ..., j of row j), and top.
constexpr std::size_t token_row(int dimension, bool covariance) {
  const auto d = static_cast<std::size_t>(dimension);
  return 3 + d + (covariance ? d * (d + 1) / 2 : 0);
}

}  // namespace largo::cuda
