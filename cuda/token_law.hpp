// How the standard tokens of a law (largo/measures/token_leaf.hpp) are drawn: the interface between host and
// device.
#pragma once

#include <cstdint>

#include "draws.cuh"
#include "radius.cuh"

namespace largo::cuda {

/// One coordinate of a token, made from a word or from one of its bits.
struct Coordinate {
  enum class Kind : std::int32_t { coin, atoms, interval, two_sided };
  Kind kind = Kind::coin;
  std::int32_t index = 0;   // which coordinate
  std::int32_t lane = 0;    // which lane of the law
  std::int32_t word = 0;    // which of the token's two words
  std::int32_t bit = 0;     // which bit, for a coin
  float low = 0, high = 0;  // values of a coin; centre and half the width of an interval
  prompts::Atoms atoms = {};
  prompts::TwoSided two_sided = {};
};

/// words: each coordinate has its own recipe; coins and intervals: all coordinates are alike, in order.
enum class TokenKind : std::int32_t { normal, sphere, words, coins, intervals };

/// Addresses are on the device.
struct TokenLaw {
  TokenKind kind = TokenKind::normal;
  std::int32_t dimension = 1;  // coordinates of a token
  std::int32_t drawn = 1;      // coordinates drawn; more than `dimension` on a sphere
  std::int32_t spare = 0;      // further normals, which are left as they are: none or one
  std::int32_t lanes = 1;
  std::uint64_t first_lane = 0;
  float low = 0, high = 0;                    // of coordinates that are alike
  const Coordinate* coordinates = nullptr;    // for products, lane by lane
  const std::int32_t* lane_begins = nullptr;  // lanes + 1 of them
  bool has_radius = false;
  RadiusLaw radius;
};

}  // namespace largo::cuda
