// Prompts drawn and summed: a warp for each chunk of 256 tokens, which it holds in shared memory, and eight
// threads for each chunk of scores. Sums run as the CPU's (src/sampling/token_sums.cpp and
// src/sampling/score_sums.cpp): in eight partial sums a chunk, then over lanes, then over chunks in order.
#include "prompt_kernel.hpp"

#include <cuda_runtime.h>

#include "octet_draws.cuh"
#include "token_chunk.cuh"

namespace largo::cuda {
namespace {

// Two coordinates of all tokens: a thread draws 8 of a block of 32.
__device__ void draw_normals(const Address& at, int thread, float* first, float* second) {
  const int block = thread / 4, j = thread % 4;
  const std::uint64_t counter = static_cast<std::uint64_t>(block * kBlockCounters + j);
  const Words radii[2] = {philox(at, counter), philox(at, counter + 4)};
  const Words angles = philox(at, counter + 8);
  LARGO_UNROLL
  for (int v = 0; v < 4; ++v) {
    float2 x, y;
    const Pair<float> even = normals(radii[v / 2].word[v % 2], angle_of(angles.word[v / 2], v));
    const Pair<float> odd = normals(radii[v / 2].word[v % 2 + 2], angle_of(angles.word[v / 2 + 2], v));
    x.x = even.first;
    y.x = even.second;
    x.y = odd.first;
    y.y = odd.second;
    const int to = place(block * kBlockTokens + v * kLanes + 2 * j);
    *reinterpret_cast<float2*>(first + to) = x;
    if (second != nullptr) *reinterpret_cast<float2*>(second + to) = y;
  }
}

__device__ float from_word(const Coordinate& c, std::uint32_t word) {
  switch (c.kind) {
    case Coordinate::Kind::coin:
      return coin(word, c.bit, c.low, c.high);
    case Coordinate::Kind::interval:
      return interval(word, c.low, c.high);
    case Coordinate::Kind::atoms:
      return atom(word, c.atoms);
  }
  return 0;
}

// Of a counter, which has the words of two tokens: all coordinates of a lane.
__device__ void draw_alike(const TokenJob& job, const Words& words, int lane, float* to) {
  if (job.kind == TokenKind::intervals) {
    LARGO_UNROLL
    for (int w = 0; w < 2; ++w) {
      if (2 * lane + w >= job.dimension) return;
      float2 x;
      x.x = interval(words.word[w], job.low, job.high);
      x.y = interval(words.word[2 + w], job.low, job.high);
      *reinterpret_cast<float2*>(to + (2 * lane + w) * kRow) = x;
    }
    return;
  }
  // Bits at places that the compiler knows: a test and a choice each.
  LARGO_UNROLL
  for (int w = 0; w < 2; ++w) {
    const int first = 64 * lane + 32 * w;
    LARGO_UNROLL
    for (int bit = 0; bit < 32; ++bit) {
      if (bit % 8 == 0 && first + bit >= job.dimension) break;
      float2 x;
      x.x = coin(words.word[w], bit, job.low, job.high);
      x.y = coin(words.word[2 + w], bit, job.low, job.high);
      if (first + bit < job.dimension) *reinterpret_cast<float2*>(to + (first + bit) * kRow) = x;
    }
  }
}

__device__ void draw_tokens(const TokenJob& job, std::uint64_t prompt, std::uint64_t first_token, int thread,
                            const Chunk& chunk) {
  if (job.kind == TokenKind::coins || job.kind == TokenKind::intervals) {
    for (int lane = 0; lane < job.lanes; ++lane) {
      const Address at =
          lane_of(job.seed, prompt, job.first_lane + static_cast<std::uint64_t>(lane), first_token);
      for (int m = 0; m < kSumsChunk / 2 / kWarp; ++m) {
        const int counter = m * kWarp + thread;
        draw_alike(job, philox(at, static_cast<std::uint64_t>(counter)), lane,
                   chunk.tokens + place(2 * counter));
      }
    }
    return;
  }
  if (job.kind == TokenKind::words) {
    for (int lane = 0; lane < job.lanes; ++lane) {
      const Address at =
          lane_of(job.seed, prompt, job.first_lane + static_cast<std::uint64_t>(lane), first_token);
      const int begin = job.lane_begins[lane], end = job.lane_begins[lane + 1];
      for (int counter = thread; counter < kSumsChunk / 2; counter += kWarp) {
        const Words words = philox(at, static_cast<std::uint64_t>(counter));
        const int to = place(2 * counter);
        for (int k = begin; k < end; ++k) {
          const Coordinate& c = job.coordinates[k];
          const bool second = c.word == 1;
          float2 x;
          x.x = from_word(c, second ? words.word[1] : words.word[0]);
          x.y = from_word(c, second ? words.word[3] : words.word[2]);
          *reinterpret_cast<float2*>(chunk.tokens + c.index * kRow + to) = x;
        }
      }
    }
    return;
  }
  for (int j = 0; j < job.drawn; j += 2) {
    const Address at =
        lane_of(job.seed, prompt, job.first_lane + static_cast<std::uint64_t>(j / 2), first_token);
    float* const row = chunk.tokens + j * kRow;
    draw_normals(at, thread, row, j + 1 < job.drawn ? row + kRow : nullptr);
  }
  if (job.kind != TokenKind::sphere) return;
  __syncwarp();
  for (int token = thread; token < kSumsChunk; token += kWarp) {
    float* const x = chunk.tokens + place(token);
    float square = 0;
    for (int j = 0; j < job.drawn; ++j) square = square + x[j * kRow] * x[j * kRow];
    const float factor = to_sphere(square);
    for (int j = 0; j < job.dimension; ++j) x[j * kRow] = x[j * kRow] * factor;
  }
}

__global__ void __launch_bounds__(256) sum_chunks(const __grid_constant__ TokenJob job) {
  extern __shared__ float4 memory[];
  const int thread = static_cast<int>(threadIdx.x) % kWarp, warps = static_cast<int>(blockDim.x) / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  float* const mine = reinterpret_cast<float*>(memory) + warp * chunk_floats(job.drawn, job.dimension);
  const Chunk chunk{mine, mine + job.drawn * kRow, mine + (job.drawn + 1) * kRow};
  const std::int64_t chunks = (job.length + kSumsChunk - 1) / kSumsChunk;
  const auto width = static_cast<std::int64_t>(token_row(job.dimension, job.covariance));
  for (std::int64_t item = std::int64_t{blockIdx.x} * warps + warp; item < job.prompts * chunks;
       item += std::int64_t{gridDim.x} * warps) {
    const std::int64_t prompt = item / chunks, first = item % chunks * kSumsChunk;
    const int count = job.length - first < kSumsChunk ? static_cast<int>(job.length - first) : kSumsChunk;
    const float* const direction = job.directions + (job.one_direction ? 0 : prompt * job.dimension);
    for (int j = thread; j < job.dimension; j += kWarp) chunk.direction[j] = direction[j];
    draw_tokens(job, job.first_prompt + static_cast<std::uint64_t>(prompt), static_cast<std::uint64_t>(first),
                thread, chunk);
    __syncwarp();
    const float top = weigh(job.dimension, count, thread, chunk);
    __syncwarp();
    double* const to = job.chunks + item * width;
    sum_means(job.dimension, thread, chunk, to);
    if (job.covariance) sum_products(job.dimension, thread, chunk, to);
    if (thread == 0) to[width - 1] = double{top};
    __syncwarp();
  }
}

// A thread for each sum of a prompt, through its chunks in order.
__global__ void merge_chunks(const __grid_constant__ TokenJob job) {
  const auto width = static_cast<std::int64_t>(token_row(job.dimension, job.covariance));
  const std::int64_t chunks = (job.length + kSumsChunk - 1) / kSumsChunk;
  const std::int64_t item = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (item >= job.prompts * width) return;
  const std::int64_t prompt = item / width, k = item % width;
  const double* const from = job.chunks + prompt * chunks * width;
  double sum = 0, top = 0;
  bool bounded = true;
  LARGO_UNROLL_SOME
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const double more = from[chunk * width + k], more_top = from[chunk * width + width - 1];
    if (!(more_top >= -1e12 && more_top <= 1e12)) {  // refused by who reads it
      if (bounded) top = more_top;
      bounded = false;
    }
    if (!bounded) continue;
    const double old_top = chunk == 0 ? more_top : top;
    top = old_top < more_top ? more_top : old_top;
    const double old_scale = power_of_two(static_cast<std::int64_t>(old_top - top));
    const double new_scale = power_of_two(static_cast<std::int64_t>(more_top - top));
    sum = sum * old_scale * (k == 1 ? old_scale : 1) + more * new_scale * (k == 1 ? new_scale : 1);
  }
  job.rows[item] = k == width - 1 ? top : sum;
}

enum ScoreSum : int { kS, kSV, kSVV, kSS, kSSV, kSSVV, kSSS, kScoreSums };
constexpr int kPairs = kSumsChunk / 2;  // of normals: both are tokens

// Eight threads a chunk. Token t < 128 has the first normal of pair t, t + 128 the second.
__global__ void __launch_bounds__(256) sum_score_chunks(const __grid_constant__ ScoreJob job) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t chunks = (job.length + kSumsChunk - 1) / kSumsChunk, items = job.prompts * chunks;
  const std::int64_t teams = std::int64_t{gridDim.x} * blockDim.x / kLanes;
  for (std::int64_t first = 0; first < items; first += teams) {
    // All threads of a warp go through the loop together: those without a chunk take the last one again.
    const std::int64_t wanted = first + (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
    const std::int64_t item = wanted < items ? wanted : items - 1;
    const std::int64_t prompt = item / chunks, token = item % chunks * kSumsChunk;
    const int count = job.length - token < kSumsChunk ? static_cast<int>(job.length - token) : kSumsChunk;
    const float rate = job.rates[job.one_rate ? 0 : prompt], shift = job.shifts[job.one_rate ? 0 : prompt];
    const Address at = lane_of(job.seed, job.first_prompt + static_cast<std::uint64_t>(prompt), job.lane,
                               static_cast<std::uint64_t>(token / 2));
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
    double* const to = job.chunks + item * static_cast<std::int64_t>(kScoreRow);
    LARGO_UNROLL
    for (int s = 0; s < kScoreSums; ++s) {
      const double total = over_lanes(sum[s]);
      if (lane == s && wanted < items) to[s] = total;
    }
    if (lane == kScoreSums && wanted < items) to[kScoreSums] = double{top};
  }
}

// ScoreSums::merge, chunk after chunk: a thread for each sum of a prompt.
__global__ void merge_score_chunks(const __grid_constant__ ScoreJob job) {
  const std::int64_t chunks = (job.length + kSumsChunk - 1) / kSumsChunk;
  const auto width = static_cast<std::int64_t>(kScoreRow);
  const std::int64_t item = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (item >= job.prompts * width) return;
  const std::int64_t prompt = item / width;
  const int k = static_cast<int>(item % width);
  const int power = k < kSS ? 1 : k < kSSS ? 2 : 3;
  const double* const from = job.chunks + prompt * chunks * width;
  double weight = 0, sum = 0;
  std::int64_t top = 0;
  LARGO_UNROLL_SOME
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const double more_weight = from[chunk * width];
    double more = from[chunk * width + k];
    const auto more_top = static_cast<std::int64_t>(from[chunk * width + width - 1]);
    if (more_weight == 0) continue;
    if (weight == 0) {
      weight = more_weight;
      sum = more;
      top = more_top;
      continue;
    }
    const std::int64_t new_top = top < more_top ? more_top : top;
    const double old_scale = power_of_two(top - new_top), new_scale = power_of_two(more_top - new_top);
    for (int i = 0; i < power; ++i) {
      sum = sum * old_scale;
      more = more * new_scale;
    }
    sum = sum + more;
    weight = weight * old_scale + more_weight * new_scale;
    top = new_top;
  }
  job.rows[item] = k == kScoreSums ? static_cast<double>(top) : sum;
}

int processors() {
  int device = 0, count = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  return count;
}

unsigned blocks_for(std::int64_t items, std::int64_t per_block, std::int64_t most) {
  const std::int64_t blocks = (items + per_block - 1) / per_block;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

}  // namespace

const char* launch_token_sums(const TokenJob& job, void* stream) {
  const auto to = static_cast<cudaStream_t>(stream);
  // As many warps as their chunks fit shared memory twice, or once where they are large.
  int device = 0, room = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  const int bytes = chunk_floats(job.drawn, job.dimension) * static_cast<int>(sizeof(float));
  int warps = (room / 2) / bytes;
  warps = warps > 8 ? 8 : warps < 1 ? 1 : warps;
  if (bytes > room) return "a chunk of tokens does not fit shared memory";
  cudaError_t error =
      cudaFuncSetAttribute(sum_chunks, cudaFuncAttributeMaxDynamicSharedMemorySize, warps * bytes);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  const std::int64_t chunks = (job.length + kSumsChunk - 1) / kSumsChunk;
  const unsigned grid = blocks_for(job.prompts * chunks, warps, std::int64_t{8} * processors());
  sum_chunks<<<grid, static_cast<unsigned>(warps * kWarp), static_cast<std::size_t>(warps * bytes), to>>>(
      job);
  error = cudaGetLastError();
  if (error != cudaSuccess) return cudaGetErrorString(error);
  const auto sums = job.prompts * static_cast<std::int64_t>(token_row(job.dimension, job.covariance));
  merge_chunks<<<blocks_for(sums, 128, kMostBlocks), 128, 0, to>>>(job);
  error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

const char* launch_score_sums(const ScoreJob& job, void* stream) {
  const auto to = static_cast<cudaStream_t>(stream);
  const std::int64_t chunks = (job.length + kSumsChunk - 1) / kSumsChunk;
  const unsigned grid = blocks_for(job.prompts * chunks, 256 / kLanes, std::int64_t{16} * processors());
  sum_score_chunks<<<grid, 256, 0, to>>>(job);
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return cudaGetErrorString(error);
  merge_score_chunks<<<blocks_for(job.prompts * static_cast<std::int64_t>(kScoreRow), 128, kMostBlocks), 128,
                       0, to>>>(job);
  error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

}  // namespace largo::cuda
