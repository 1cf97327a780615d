// The warps of a block, each with a chunk of tokens in shared memory, and the blocks of a launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "chunk_layout.hpp"

namespace largo::cuda {

struct ChunkBlock {
  int warps = 1;
  std::size_t bytes = 0;  // bytes of shared memory
  cudaError_t error = cudaSuccess;

  unsigned threads() const { return static_cast<unsigned>(warps * kWarp); }
};

/// As many warps as let their chunks fit into shared memory twice, or one warp if its chunk is larger. One
/// chunk must fit (check_token_numbers).
template <typename Kernel>
ChunkBlock chunk_block(Kernel* kernel, int drawn, int dimension, int most_warps) {
  ChunkBlock block;
  int device = 0, room = 0;
  block.error = cudaGetDevice(&device);
  if (block.error != cudaSuccess) return block;
  block.error = cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (block.error != cudaSuccess) return block;
  const int bytes = chunk_bytes(drawn, dimension), fit = room / 2 / bytes;
  block.warps = fit > most_warps ? most_warps : fit < 1 ? 1 : fit;
  block.bytes = static_cast<std::size_t>(block.warps) * static_cast<std::size_t>(bytes);
  block.error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(block.bytes));
  return block;
}

inline unsigned blocks_for(std::int64_t items, std::int64_t per_block, std::int64_t most) {
  const std::int64_t blocks = (items + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

inline constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

inline int processors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

}  // namespace largo::cuda
