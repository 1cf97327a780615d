// The warps of a block, each with a chunk of tokens in shared memory, and the blocks of a launch.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "chunk_layout.hpp"

namespace largo::cuda {

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

/// Warps, each with the shared memory of a Chunk(drawn, dimension).
struct ChunkWarps {
  int drawn, dimension;
  int most_in_a_block;
  std::int64_t count;
  std::int64_t most_blocks;  ///< a warp does the work of several beyond
};

/// Starts kernel(job) in blocks of as many warps as let their chunks fit into shared memory twice, or of one
/// warp if its chunk is larger. One chunk must fit (check_token_numbers). Returns a message, or null.
template <typename Job>
const char* launch_warps(void (*kernel)(Job), const Job& job, const ChunkWarps& warps, void* stream) {
  int device = 0, room = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  error = cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  const int bytes = chunk_bytes(warps.drawn, warps.dimension), fit = room / 2 / bytes;
  const int in_a_block = fit > warps.most_in_a_block ? warps.most_in_a_block : fit < 1 ? 1 : fit;
  const std::size_t shared = static_cast<std::size_t>(in_a_block) * static_cast<std::size_t>(bytes);
  error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  if (error != cudaSuccess) return cudaGetErrorString(error);
  const unsigned blocks = blocks_for(warps.count, in_a_block, warps.most_blocks);
  kernel<<<blocks, static_cast<unsigned>(in_a_block * kWarp), shared, static_cast<cudaStream_t>(stream)>>>(
      job);
  error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace largo::cuda
