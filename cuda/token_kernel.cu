// Draws and sums prompts: one warp for each chunk of 256 tokens, which it holds in shared memory. The sums
// have the CPU's order (src/prompts/token_sums.cpp): in eight partial sums per chunk, then over lanes, then
// over chunks in order.
#include <cuda_runtime.h>

#include "chunk_launch.cuh"
#include "prompt_kernel.hpp"
#include "token_draws.cuh"

namespace largo::cuda {
namespace {

constexpr int kMostWarps = 8;

__global__ void __launch_bounds__(kMostWarps* kWarp) sum_chunks(const __grid_constant__ TokenJob job) {
  extern __shared__ float4 memory[];
  const int thread = static_cast<int>(threadIdx.x) % kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const Chunk chunk(reinterpret_cast<float*>(memory) + warp * chunk_floats(job.drawn, job.dimension),
                    job.drawn);
  const auto width = static_cast<std::int64_t>(token_row(job.dimension, job.covariance));
  const std::int64_t items = job.slice.prompts * job.slice.chunks;
  for (std::int64_t item = std::int64_t{blockIdx.x} * warps + warp; item < items;
       item += std::int64_t{gridDim.x} * warps) {
    const auto [prompt, first, count] = chunk_of(job.slice, item);
    double* const to = job.slice.chunk_sums + item * width;
    if (count == 0) {
      for (std::int64_t k = thread; k < width; k += kWarp) to[k] = k < width - 1 ? 0 : kNoTokens;
      continue;
    }
    const float* const direction = job.directions + (job.one_direction ? 0 : prompt * job.dimension);
    for (int j = thread; j < job.dimension; j += kWarp) chunk.direction[j] = direction[j];
    const ChunkDraws draws{job,
                           job.slice.seed,
                           job.slice.first_prompt + static_cast<std::uint64_t>(prompt),
                           static_cast<std::uint64_t>(first),
                           thread,
                           kSumsChunk};
    draws.draw(chunk);
    __syncwarp();
    const float top = weigh(job.dimension, count, thread, chunk);
    __syncwarp();
    const auto put = [&](int k, double sum) { to[k] = sum; };
    sum_means(job.dimension, thread, chunk, put);
    if (job.covariance) sum_products(job.dimension, thread, chunk, put);
    if (thread == 0) to[width - 1] = double{top};
    __syncwarp();
  }
}

}  // namespace

const char* launch_token_sums(const TokenJob& job, void* stream) {
  const ChunkWarps warps{job.drawn, job.dimension, kMostWarps, job.slice.prompts * job.slice.chunks,
                         std::int64_t{8} * processors()};
  const char* const error = launch_warps(sum_chunks, job, warps, stream);
  if (error != nullptr) return error;
  return launch_merge(
      merge_of(job.slice, MergeJob::Kind::bounded_tokens, token_row(job.dimension, job.covariance)), stream);
}

}  // namespace largo::cuda
