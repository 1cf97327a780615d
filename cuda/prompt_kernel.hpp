// Sums over the tokens of many prompts: what host and device tell each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collapsed.cuh"
#include "draws.cuh"

namespace largo::cuda {

/// One coordinate of a token that is made of a word, or of a bit of it.
struct Coordinate {
  enum class Kind : std::int32_t { coin, atoms, interval };
  Kind kind = Kind::coin;
  std::int32_t index = 0;   // of the coordinate
  std::int32_t word = 0;    // of the token's two
  std::int32_t bit = 0;     // of a coin
  float low = 0, high = 0;  // of a coin; centre and half the width of an interval
  Atoms atoms = {};
};

/// words: coordinate by coordinate; coins and intervals: all coordinates are alike, in order.
enum class TokenKind : std::int32_t { normal, sphere, words, coins, intervals };

/// How tokens are drawn and what is summed. Addresses are the device's.
struct TokenJob {
  TokenKind kind = TokenKind::normal;
  std::int32_t dimension = 1;  // of the sums
  std::int32_t drawn = 1;      // coordinates: more on a sphere
  std::int32_t lanes = 1;
  bool covariance = false;
  std::uint64_t first_lane = 0, seed = 0, first_prompt = 0;
  std::int64_t prompts = 0, length = 0;
  float low = 0, high = 0;                    // of coordinates that are alike
  const Coordinate* coordinates = nullptr;    // of words, lane by lane
  const std::int32_t* lane_begins = nullptr;  // lanes + 1 of them
  const float* directions = nullptr;          // times log2 e
  bool one_direction = true;
  double* chunks = nullptr;  // of each prompt and chunk: sums and top
  double* rows = nullptr;    // of each prompt
};

inline constexpr int kMostTokenNumbers = 160;  // drawn coordinates that fit a multiprocessor

constexpr std::size_t token_row(int dimension, bool covariance) {
  const auto d = static_cast<std::size_t>(dimension);
  return 3 + d + (covariance ? d * (d + 1) / 2 : 0);
}

struct ScoreJob {
  std::uint64_t lane = 0, seed = 0, first_prompt = 0;
  std::int64_t prompts = 0, length = 0;
  const float *rates = nullptr, *shifts = nullptr;  // rates times log2 e
  bool one_rate = true;
  double* chunks = nullptr;
  double* rows = nullptr;
};
inline constexpr std::size_t kScoreRow = 8;

/// Both sum all chunks of all prompts, then those of each prompt in order. An empty text, or what went wrong.
const char* launch_token_sums(const TokenJob& job, void* stream);
const char* launch_score_sums(const ScoreJob& job, void* stream);

}  // namespace largo::cuda
