// A chunk of 256 tokens in the shared memory of a warp, and softmax-weighted sums over it, as in
// src/prompts/token_sums.cpp: each is computed as eight partial sums in float32, by token modulo 8, which are
// then added in float64.
#pragma once

#include "chunk_layout.hpp"

namespace largo::cuda {

inline constexpr int kTile = 4;  // coordinates that a thread sums together
inline constexpr unsigned kAll = 0xffffffffu;
__device__ inline int place(int token) { return token + token / 32 * 8; }

// Calls use(at) for the places of tokens lane, lane + 8, ..., in order, four at a time at distances that the
// compiler knows.
template <typename Use>
__device__ void for_lane(int lane, const Use& use) {
  for (int first = 0; first < kSumsChunk; first += 4 * kLanes) {
    const int at = place(first) + lane;
    LARGO_UNROLL
    for (int b = 0; b < 4; ++b) use(at + b * kLanes);
  }
}

// Sums over lanes 0, 1, ..., 7 of the thread's group of eight.
__device__ inline double over_lanes(float partial) {
  double sum = 0;
  LARGO_UNROLL
  for (int lane = 0; lane < kLanes; ++lane) sum = sum + double{__shfl_sync(kAll, partial, lane, kLanes)};
  return sum;
}

/// Uses chunk_floats(drawn, dimension) numbers of shared memory.
struct Chunk {
  __device__ Chunk(float* memory, int drawn)
      : tokens(memory), weights(memory + drawn * kRow), direction(weights + kRow) {}

  float* tokens;     // rows of coordinates
  float* weights;    // one row
  float* direction;  // one number for each coordinate
};

// The largest score of a warp, rounded up to a whole number; thread t has those of tokens t, t + 32, ...
__device__ inline float top_of(const float (&scores)[kSumsChunk / kWarp], int count, int thread) {
  float largest = -bits_as<float>(0x7f800000);
  LARGO_UNROLL
  for (int m = 0; m < kSumsChunk / kWarp; ++m) {
    if (m * kWarp + thread < count && largest < scores[m]) largest = scores[m];
  }
  LARGO_UNROLL
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(kAll, largest, distance);
    largest = largest < other ? other : largest;
  }
  return ceilf(largest);
}

// Computes weights relative to 2 to the power of the top score, which is returned.
__device__ inline float weigh(int dimension, int count, int thread, const Chunk& chunk) {
  float scores[kSumsChunk / kWarp];
  LARGO_UNROLL
  for (int m = 0; m < kSumsChunk / kWarp; ++m) scores[m] = 0;
  for (int j = 0; j < dimension; ++j) {
    const float c = chunk.direction[j];
    const float* const x = chunk.tokens + j * kRow;
    LARGO_UNROLL
    for (int m = 0; m < kSumsChunk / kWarp; ++m) scores[m] = scores[m] + c * x[place(m * kWarp + thread)];
  }
  const float top = top_of(scores, count, thread);
  LARGO_UNROLL
  for (int m = 0; m < kSumsChunk / kWarp; ++m) {
    const int token = m * kWarp + thread;
    chunk.weights[place(token)] = token < count ? power_of_two(scores[m] - top) : 0.0F;
  }
  return top;
}

// Computes Σ w, Σ w² and Σ w x; the threads of a warp are four groups of eight lanes. Calls put(k, sum) for
// sum number k of a row, always from the same thread.
template <typename Put>
__device__ void sum_means(int dimension, int thread, const Chunk& chunk, const Put& put) {
  const int lane = thread % kLanes, group = thread / kLanes;
  for (int first = 0; first == 0 || first < dimension; first += 4 * kTile) {  // points have weights, too
    float w_sum = 0, ww_sum = 0, sum[kTile] = {};
    const float* x[kTile];
    LARGO_UNROLL
    for (int r = 0; r < kTile; ++r) {
      const int j = first + r * 4 + group;
      x[r] = chunk.tokens + (j < dimension ? j : 0) * kRow;
    }
    for_lane(lane, [&](int at) {
      const float w = chunk.weights[at];
      w_sum = w_sum + w;
      ww_sum = ww_sum + w * w;
      LARGO_UNROLL
      for (int r = 0; r < kTile; ++r) sum[r] = sum[r] + w * x[r][at];
    });
    // Lanes 0 to 3 have a coordinate each, and lanes 4 and 5 of the first group the sums of weights.
    double mine = 0;
    LARGO_UNROLL
    for (int r = 0; r < kTile; ++r) {
      const double s = over_lanes(sum[r]);
      mine = lane == r ? s : mine;
    }
    const int j = first + lane * 4 + group;
    if (lane < kTile && j < dimension) put(2 + j, mine);
    if (first > 0) continue;
    const double w = over_lanes(w_sum), ww = over_lanes(ww_sum);
    if (group == 0 && lane == kTile) put(0, w);
    if (group == 0 && lane == kTile + 1) put(1, ww);
  }
}

// Computes Σ (w x_j) x_i for i <= j in tiles of 4 by 4, one at a time for each group of eight lanes.
template <typename Put>
__device__ void sum_products(int dimension, int thread, const Chunk& chunk, const Put& put) {
  const int lane = thread % kLanes, group = thread / kLanes;
  const int rows = (dimension + kTile - 1) / kTile, tiles = rows * (rows + 1) / 2;
  for (int first = 0; first < tiles; first += 4) {
    const int tile = first + group < tiles ? first + group : tiles - 1;  // the last one again, not stored
    int J = 0;
    while ((J + 1) * (J + 2) / 2 <= tile) ++J;
    const int I = tile - J * (J + 1) / 2;
    float sum[kTile][kTile] = {};
    const float *x_j[kTile], *x_i[kTile];
    LARGO_UNROLL
    for (int r = 0; r < kTile; ++r) {
      const int j = J * kTile + r, i = I * kTile + r;
      x_j[r] = chunk.tokens + (j < dimension ? j : 0) * kRow;
      x_i[r] = chunk.tokens + (i < dimension ? i : 0) * kRow;
    }
    for_lane(lane, [&](int at) {
      const float w = chunk.weights[at];
      float other[kTile];
      LARGO_UNROLL
      for (int b = 0; b < kTile; ++b) other[b] = x_i[b][at];
      LARGO_UNROLL
      for (int a = 0; a < kTile; ++a) {
        const float weighted = w * x_j[a][at];
        LARGO_UNROLL
        for (int b = 0; b < kTile; ++b) sum[a][b] = sum[a][b] + weighted * other[b];
      }
    });
    // Every lane has two of the tile's sixteen sums.
    constexpr int kMine = kTile * kTile / kLanes;
    double mine[kMine] = {};
    LARGO_UNROLL
    for (int e = 0; e < kTile * kTile; ++e) {
      const double s = over_lanes(sum[e / kTile][e % kTile]);
      mine[e / kLanes] = lane == e % kLanes ? s : mine[e / kLanes];
    }
    LARGO_UNROLL
    for (int m = 0; m < kMine; ++m) {
      const int e = m * kLanes + lane, j = J * kTile + e / kTile, i = I * kTile + e % kTile;
      if (first + group < tiles && j < dimension && i <= j) {
        put(2 + dimension + j * (j + 1) / 2 + i, mine[m]);
      }
    }
  }
}

}  // namespace largo::cuda
