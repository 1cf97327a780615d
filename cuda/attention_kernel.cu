// Attention over a given prompt, its tokens read once: a warp takes a segment of it, chunk by chunk, and adds
// to the sums of every direction, kept relative to a power of two that follows the largest score (online
// softmax); then the segments are added in order. The same bits from run to run.
#include "attention_kernel.hpp"

#include <cuda_runtime.h>

#include "prompt_kernel.hpp"
#include "token_chunk.cuh"

namespace largo::cuda {
namespace {

// Sums of one direction over a segment so far: thread t of the warp has numbers t, t + 32,
// ...
__device__ void add_chunk(double* sums, const double* chunk, std::int64_t width, bool empty, int thread) {
  const double more_top = chunk[width - 1], old_top = empty ? more_top : sums[width - 1];
  const double top = old_top < more_top ? more_top : old_top;
  __syncwarp();
  const double old_scale = power_of_two(static_cast<std::int64_t>(old_top - top));
  const double new_scale = power_of_two(static_cast<std::int64_t>(more_top - top));
  for (std::int64_t k = thread; k < width - 1; k += kWarp) {
    const double before = empty ? 0 : sums[k];
    sums[k] = before * old_scale * (k == 1 ? old_scale : 1) + chunk[k] * new_scale * (k == 1 ? new_scale : 1);
  }
  if (thread == 0) sums[width - 1] = top;
  __syncwarp();
}

constexpr int kLoads = 8;

__device__ float load(const GivenJob& job, std::int64_t at) {
  if (!job.halves) return static_cast<const float*>(job.tokens)[at];
  return bits_as<float>(std::uint32_t{static_cast<const std::uint16_t*>(job.tokens)[at]} << 16);
}

__global__ void __launch_bounds__(128) sum_segments(const __grid_constant__ GivenJob job, int warp_bytes) {
  extern __shared__ float4 memory[];
  const int thread = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp, d = job.dimension;
  const auto width = static_cast<std::int64_t>(token_row(d, job.covariance));
  char* const bytes = reinterpret_cast<char*>(memory) + warp * warp_bytes;
  double* const chunk_sums = reinterpret_cast<double*>(bytes);
  float* const mine = reinterpret_cast<float*>(chunk_sums + width + width % 2);
  const Chunk chunk{mine, mine + d * kRow, mine + (d + 1) * kRow};
  const std::int64_t segments = given_segments(job.length);
  const std::int64_t segment = std::int64_t{blockIdx.x} * warps + warp;
  if (segment >= segments) return;
  const std::int64_t begin = segment * kGivenSegment;
  const std::int64_t end = begin + kGivenSegment < job.length ? begin + kGivenSegment : job.length;
  for (std::int64_t first = begin; first < end; first += kSumsChunk) {
    const int count = end - first < kSumsChunk ? static_cast<int>(end - first) : kSumsChunk;
    // Several loads on their way before the first is used.
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
    for (int q = 0; q < job.directions_count; ++q) {
      for (int j = thread; j < d; j += kWarp) chunk.direction[j] = job.directions[q * d + j];
      __syncwarp();
      const float top = weigh(d, count, thread, chunk);
      __syncwarp();
      sum_means(d, thread, chunk, chunk_sums);
      if (job.covariance) sum_products(d, thread, chunk, chunk_sums);
      if (thread == 0) chunk_sums[width - 1] = double{top};
      __syncwarp();
      add_chunk(job.parts + (q * segments + segment) * width, chunk_sums, width, first == begin, thread);
    }
  }
}

// A thread for each sum of a direction, through the segments in order.
__global__ void merge_segments(const __grid_constant__ GivenJob job) {
  const auto width = static_cast<std::int64_t>(token_row(job.dimension, job.covariance));
  const std::int64_t item = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (item >= job.directions_count * width) return;
  const std::int64_t q = item / width, k = item % width, segments = given_segments(job.length);
  const double* const from = job.parts + q * segments * width;
  double sum = 0, top = 0;
  LARGO_UNROLL_SOME
  for (std::int64_t s = 0; s < segments; ++s) {
    const double more = from[s * width + k], more_top = from[s * width + width - 1];
    const double old_top = s == 0 ? more_top : top;
    top = old_top < more_top ? more_top : old_top;
    const double old_scale = power_of_two(static_cast<std::int64_t>(old_top - top));
    const double new_scale = power_of_two(static_cast<std::int64_t>(more_top - top));
    sum = sum * old_scale * (k == 1 ? old_scale : 1) + more * new_scale * (k == 1 ? new_scale : 1);
  }
  job.rows[item] = k == width - 1 ? top : sum;
}

}  // namespace

const char* launch_given_sums(const GivenJob& job, void* stream) {
  const auto to = static_cast<cudaStream_t>(stream);
  int device = 0, room = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const auto width = static_cast<int>(token_row(job.dimension, job.covariance));
  const int bytes = (width + width % 2) * static_cast<int>(sizeof(double)) +
                    chunk_floats(job.dimension, job.dimension) * static_cast<int>(sizeof(float));
  if (bytes > room) return "a chunk of tokens and its sums do not fit shared memory";
  int warps = (room / 2) / bytes;
  warps = warps > 4 ? 4 : warps < 1 ? 1 : warps;
  cudaError_t error =
      cudaFuncSetAttribute(sum_segments, cudaFuncAttributeMaxDynamicSharedMemorySize, warps * bytes);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  const std::int64_t segments = given_segments(job.length);
  sum_segments<<<static_cast<unsigned>((segments + warps - 1) / warps), static_cast<unsigned>(warps * kWarp),
                 static_cast<std::size_t>(warps * bytes), to>>>(job, bytes);
  error = cudaGetLastError();
  if (error != cudaSuccess) return cudaGetErrorString(error);
  const std::int64_t sums = job.directions_count * std::int64_t{width};
  merge_segments<<<static_cast<unsigned>((sums + 127) / 128), 128, 0, to>>>(job);
  error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

}  // namespace largo::cuda
