// Attention over a piece of a given prompt, whose tokens are read once: a warp takes a segment, chunk by
// chunk, and adds to the sums of every direction, which are kept relative to a power of two that follows the
// largest score (online softmax); then the segments are added in order. Every run gives the same bits.
#include "attention_kernel.hpp"

#include <cuda_runtime.h>

#include "chunk_launch.cuh"
#include "merge_kernel.hpp"
#include "running_sum.cuh"
#include "token_chunk.cuh"

namespace largo::cuda {
namespace {

// Adds a sum of the next chunk to those of the segment. These are in global memory, because the sums of a
// chunk would not fit into shared memory beside its tokens.
struct AddToSegment {
  double* sums;
  double old_top, chunk_top;
  bool empty;

  __device__ void operator()(int k, double more) const {
    RunningSum sum{empty ? 0 : sums[k], old_top, empty};
    sum.add(more, chunk_top, k == 1 ? 2 : 1);
    sums[k] = sum.sum;
  }
};

// Called by all threads of the warp, which all see the new top after the next __syncwarp().
__device__ AddToSegment add_to_segment(double* sums, std::int64_t width, double chunk_top, bool empty,
                                       int thread) {
  const double old_top = empty ? chunk_top : sums[width - 1];
  __syncwarp();
  if (thread == 0) sums[width - 1] = old_top < chunk_top ? chunk_top : old_top;
  return {sums, old_top, chunk_top, empty};
}

__device__ float load(const GivenJob& job, std::int64_t at) {
  if (!job.halves) return static_cast<const float*>(job.tokens)[at];
  return bits_as<float>(std::uint32_t{static_cast<const std::uint16_t*>(job.tokens)[at]} << 16);
}

// Loads tokens first, ..., first + count - 1 relative to the centre, then zeros; several loads are under way
// before the first is used.
__device__ void load_tokens(const GivenJob& job, std::int64_t first, int count, int thread,
                            const Chunk& chunk) {
  constexpr int kLoads = 8;
  const int d = job.dimension;
  int token = thread / d, j = thread % d;
  for (int e = thread; e < kSumsChunk * d; e += kLoads * kWarp) {
    float x[kLoads];
    LARGO_UNROLL
    for (int m = 0; m < kLoads; ++m) {
      const int at = e + m * kWarp;
      x[m] = at < count * d ? load(job, first * d + at) : 0.0F;
    }
    LARGO_UNROLL
    for (int m = 0; m < kLoads; ++m) {
      if (e + m * kWarp >= kSumsChunk * d) break;
      chunk.tokens[j * kRow + place(token)] = token < count ? x[m] - job.centre[j] : 0.0F;
      token += kWarp / d;
      j += kWarp % d;
      if (j >= d) {
        j -= d;
        ++token;
      }
    }
  }
}

constexpr int kMostWarps = 4;

__global__ void __launch_bounds__(kMostWarps* kWarp) sum_segments(const __grid_constant__ GivenJob job) {
  extern __shared__ float4 memory[];
  const int thread = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp, d = job.dimension;
  const auto width = static_cast<std::int64_t>(token_row(d, job.covariance));
  const Chunk chunk(reinterpret_cast<float*>(memory) + warp * chunk_floats(d, d), d);
  const std::int64_t segments = given_segments(job.length);
  const std::int64_t segment = std::int64_t{blockIdx.x} * warps + warp;
  if (segment >= segments) return;
  const std::int64_t begin = segment * kGivenSegment;
  const std::int64_t end = begin + kGivenSegment < job.length ? begin + kGivenSegment : job.length;
  for (std::int64_t first = begin; first < end; first += kSumsChunk) {
    const int count = end - first < kSumsChunk ? static_cast<int>(end - first) : kSumsChunk;
    load_tokens(job, first, count, thread, chunk);
    for (int q = 0; q < job.directions_count; ++q) {
      for (int j = thread; j < d; j += kWarp) chunk.direction[j] = job.directions[q * d + j];
      __syncwarp();
      const float top = weigh(d, count, thread, chunk);
      const AddToSegment add = add_to_segment(job.parts + (q * segments + segment) * width, width,
                                              double{top}, first == begin, thread);
      __syncwarp();
      sum_means(d, thread, chunk, add);
      if (job.covariance) sum_products(d, thread, chunk, add);
      __syncwarp();
    }
  }
}

}  // namespace

const char* launch_given_sums(const GivenJob& job, void* stream) {
  const ChunkWarps warps{job.dimension, job.dimension, kMostWarps, given_segments(job.length), kMostBlocks};
  const char* const error = launch_warps(sum_segments, job, warps, stream);
  if (error != nullptr) return error;
  return launch_merge(
      {MergeJob::Kind::tokens, job.directions_count, given_segments(job.length),
       static_cast<std::int64_t>(token_row(job.dimension, job.covariance)), job.parts, job.before, job.rows},
      stream);
}

}  // namespace largo::cuda
