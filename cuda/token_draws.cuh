// A chunk of tokens of a law, drawn by a warp into its shared memory: bit-identical to the CPU's tokens
// (src/prompts/token_source.cpp).
#pragma once

#include "token_chunk.cuh"
#include "token_law.hpp"

namespace largo::cuda {

// Draws two coordinates of 8 tokens of a block of 32: of tokens 2j and 2j + 1 modulo 8.
__device__ inline void draw_normals(const Address& at, int block, int j, float* first, float* second) {
  const std::uint64_t counter = static_cast<std::uint64_t>(block * random::kBlockCounters + j);
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

__device__ inline float from_word(const Coordinate& c, std::uint32_t word) {
  switch (c.kind) {
    case Coordinate::Kind::coin: return coin(word, c.bit, c.low, c.high);
    case Coordinate::Kind::interval: return interval(word, c.low, c.high);
    case Coordinate::Kind::atoms: return atom(word, c.atoms);
    case Coordinate::Kind::two_sided: return two_sided(word, c.two_sided);
  }
  return 0;
}

// Draws all coordinates of a lane from a counter, which has the words of two tokens.
__device__ inline void draw_alike(const TokenLaw& job, const Words& words, int lane, float* to) {
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
  // The compiler knows the places of the bits, so each takes a test and a selection.
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

// Draws of prompt number `prompt` from its lanes of counters, for the tokens from `first_token` on. They are
// `padded` tokens, a multiple of eight, or up to the next multiple of 32.
struct ChunkDraws {
  const TokenLaw& job;
  std::uint64_t seed, prompt, first_token;
  int thread, padded;

  __device__ Address lane(int number) const {
    return lane_of(seed, prompt, job.first_lane + static_cast<std::uint64_t>(number), first_token);
  }

  // Calls use(counter) for the counters of this thread; each has the words of two tokens.
  template <typename Use>
  __device__ void for_counters(const Use& use) const {
    LARGO_UNROLL
    for (int m = 0; m < kSumsChunk / 2 / kWarp; ++m) {
      const int counter = m * kWarp + thread;
      if (padded == kSumsChunk || counter < padded / 2) use(counter);
    }
  }

  // Draws coordinates that are all alike.
  __device__ void alike(const Chunk& chunk) const {
    for (int number = 0; number < job.lanes; ++number) {
      const Address at = lane(number);
      for_counters([&](int counter) {
        draw_alike(job, philox(at, static_cast<std::uint64_t>(counter)), number,
                   chunk.tokens + place(2 * counter));
      });
    }
  }

  // Draws each coordinate by its own recipe.
  __device__ void words(const Chunk& chunk) const {
    for (int number = 0; number < job.lanes; ++number) {
      const Address at = lane(number);
      const int begin = job.lane_begins[number], end = job.lane_begins[number + 1];
      for (int counter = thread; counter < padded / 2; counter += kWarp) {
        const Words drawn = philox(at, static_cast<std::uint64_t>(counter));
        const int to = place(2 * counter);
        for (int k = begin; k < end; ++k) {
          const Coordinate& c = job.coordinates[k];
          const bool second = c.word == 1;
          float2 x;
          x.x = from_word(c, second ? drawn.word[1] : drawn.word[0]);
          x.y = from_word(c, second ? drawn.word[3] : drawn.word[2]);
          *reinterpret_cast<float2*>(chunk.tokens + c.index * kRow + to) = x;
        }
      }
    }
  }

  // Pairs of coordinates and blocks of tokens are shared out together: short prompts have few blocks.
  __device__ void normals(const Chunk& chunk) const {
    const int count = job.drawn + job.spare, each = (padded + kBlockTokens - 1) / kBlockTokens * 4;
    for (int item = thread; item < (count + 1) / 2 * each; item += kWarp) {
      const int pair = item / each, rest = item % each;
      float* const row = chunk.tokens + 2 * pair * kRow;
      draw_normals(lane(pair), rest / 4, rest % 4, row, 2 * pair + 1 < count ? row + kRow : nullptr);
    }
  }

  // Turns normals into points on the sphere.
  __device__ void normalise(const Chunk& chunk) const {
    __syncwarp();
    for (int token = thread; token < padded; token += kWarp) {
      float* const x = chunk.tokens + place(token);
      float square = 0;
      for (int j = 0; j < job.drawn; ++j) square = square + x[j * kRow] * x[j * kRow];
      const float factor = to_sphere(square);
      for (int j = 0; j < job.dimension; ++j) x[j * kRow] = x[j * kRow] * factor;
    }
  }

  // Multiplies each token by its radius.
  __device__ void stretch(const Chunk& chunk) const {
    const Address at = lane_of(seed, prompt, job.radius.lane, first_token);
    __syncwarp();
    for (int counter = thread; counter < padded / 2; counter += kWarp) {
      const Words drawn = philox(at, static_cast<std::uint64_t>(counter));
      const float first = radius_of(drawn.word[0], drawn.word[1], job.radius);
      const float second = radius_of(drawn.word[2], drawn.word[3], job.radius);
      float* const x = chunk.tokens + place(2 * counter);
      for (int j = 0; j < job.dimension; ++j) {
        x[j * kRow] = x[j * kRow] * first;
        x[j * kRow + 1] = x[j * kRow + 1] * second;
      }
    }
  }

  __device__ void draw(const Chunk& chunk) const {
    draw_base(chunk);
    if (job.has_radius) stretch(chunk);
  }

  __device__ void draw_base(const Chunk& chunk) const {
    switch (job.kind) {
      case TokenKind::coins:
      case TokenKind::intervals: return alike(chunk);
      case TokenKind::words: return words(chunk);
      case TokenKind::normal: return normals(chunk);
      case TokenKind::sphere: normals(chunk); return normalise(chunk);
    }
  }
};

}  // namespace largo::cuda
