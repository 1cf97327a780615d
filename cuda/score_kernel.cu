// Draws and sums Gaussian scores, eight threads per chunk, as the CPU does (src/prompts/score_sums.cpp): in
// eight partial sums per chunk, then over lanes, then over chunks in order.
#include <cuda_runtime.h>

#include "chunk_launch.cuh"
#include "octet_draws.cuh"
#include "prompt_kernel.hpp"
#include "token_chunk.cuh"

namespace largo::cuda {
namespace {

enum ScoreSum : int { kS, kSV, kSVV, kSS, kSSV, kSSVV, kSSS, kScoreSums };
constexpr int kPairs = kSumsChunk / 2;  // pairs of normals, both of which are tokens

// Eight threads per chunk. Token t < 128 has the first normal of pair t, and token t + 128 the second.
__global__ void __launch_bounds__(256) sum_score_chunks(const __grid_constant__ ScoreJob job) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t items = job.slice.prompts * job.slice.chunks;
  const std::int64_t teams = std::int64_t{gridDim.x} * blockDim.x / kLanes;
  for (std::int64_t first = 0; first < items; first += teams) {
    // All threads of a warp go through the loop together: those without a chunk take the last one again.
    const std::int64_t wanted = first + (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
    const std::int64_t item = wanted < items ? wanted : items - 1;
    const auto [prompt, token, count] = chunk_of(job.slice, item);
    const float rate = job.rates[job.one_rate ? 0 : prompt], shift = job.shifts[job.one_rate ? 0 : prompt];
    const Address at = lane_of(job.slice.seed, job.slice.first_prompt + static_cast<std::uint64_t>(prompt),
                               job.lane, static_cast<std::uint64_t>(token / 2));
    float v[2][kPairs / kLanes];
    LARGO_UNROLL
    for (int two = 0; two < kPairs; two += 2 * kBlockTokens) {
      TwoBlocks words;
      words.draw(at, static_cast<std::uint64_t>(two / 2), lane, kAll);
      LARGO_UNROLL
      for (int b = 0; b < 2; ++b) {
        LARGO_UNROLL
        for (int n = 0; n < 4; ++n) {
          const Pair<float> x = words.normals_of(b, n);
          const int m = two / kLanes + b * 4 + n;
          v[0][m] = x.first;
          v[1][m] = x.second;
        }
      }
    }
    float largest = -bits_as<float>(0x7f800000);
    LARGO_UNROLL
    for (int half = 0; half < 2; ++half) {
      LARGO_UNROLL
      for (int m = 0; m < kPairs / kLanes; ++m) {
        if (half * kPairs + m * kLanes + lane < count && largest < v[half][m]) largest = v[half][m];
      }
    }
    LARGO_UNROLL
    for (int distance = 4; distance > 0; distance /= 2) {
      const float other = __shfl_xor_sync(kAll, largest, distance, kLanes);
      largest = largest < other ? other : largest;
    }
    const float top = ceilf(rate * largest);
    float sum[kScoreSums] = {};
    LARGO_UNROLL
    for (int half = 0; half < 2; ++half) {
      LARGO_UNROLL
      for (int m = 0; m < kPairs / kLanes; ++m) {
        if (half * kPairs + m * kLanes + lane >= count) continue;
        const float x = v[half][m] - shift;
        const float w = power_of_two(rate * v[half][m] - top);
        const float wx = w * x, ww = w * w;
        sum[kS] = sum[kS] + w;
        sum[kSV] = sum[kSV] + wx;
        sum[kSVV] = sum[kSVV] + wx * x;
        sum[kSS] = sum[kSS] + ww;
        sum[kSSV] = sum[kSSV] + w * wx;
        sum[kSSVV] = sum[kSSVV] + wx * wx;
        sum[kSSS] = sum[kSSS] + ww * w;
      }
    }
    double* const to = job.slice.chunk_sums + item * static_cast<std::int64_t>(kScoreRow);
    LARGO_UNROLL
    for (int s = 0; s < kScoreSums; ++s) {
      const double total = over_lanes(sum[s]);
      if (lane == s && wanted < items) to[s] = total;
    }
    if (lane == kScoreSums && wanted < items) to[kScoreSums] = double{top};
  }
}

constexpr unsigned kThreads = 256;

}  // namespace

const char* launch_score_sums(const ScoreJob& job, void* stream) {
  const auto to = static_cast<cudaStream_t>(stream);
  const unsigned grid =
      blocks_for(job.slice.prompts * job.slice.chunks, kThreads / kLanes, std::int64_t{16} * processors());
  sum_score_chunks<<<grid, kThreads, 0, to>>>(job);
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return launch_merge(merge_of(job.slice, MergeJob::Kind::scores, kScoreRow), stream);
}

}  // namespace largo::cuda
