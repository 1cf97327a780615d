// Tokens of a law, drawn a chunk at a time, coordinate by coordinate, and the sources for the leaves of a
// law.
//
// What a source draws for token t of a prompt depends on (seed, prompt, t) and on the lanes it was given
// alone. A lane is a range of 2^40 Philox counters of the prompt's stream and holds two words for each token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "largo/measures/coordinate_law.hpp"
#include "largo/measures/token_leaf.hpp"
#include "prompts/prompt_layout.hpp"
#include "prompts/token_transforms.hpp"

namespace largo::prompts {

/// Prompts may have this many tokens, and sources this many lanes in all.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
inline constexpr std::uint64_t kMostLanes = std::uint64_t{1} << 20;

/// The counters of a lane for the tokens from `first_token` on, a multiple of kTokensAtOnce.
inline random::DrawAddress lane_address(std::uint64_t seed, std::uint64_t prompt, std::uint64_t lane,
                                        std::uint64_t first_token) {
  return {seed, prompt, lane * kLaneCounters + first_token / random::kTokensAtOnce * random::kCountersAtOnce};
}

template <typename T>
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Tokens first_token, ..., first_token + count - 1 (first_token a multiple of eight, count <=
  /// kChunkTokens) of the prompt: coordinate j of the i-th at tokens[kChunkTokens j + i], and finite numbers
  /// up to the next multiple of eight. Scratch memory is kept: one source for each thread.
  virtual void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
                    T* tokens) = 0;
};

// The source of tokens of a leaf of a law (largo/measures/token_leaf.hpp).

/// How many lanes the source of this leaf reads.
std::uint64_t lanes_of(const TokenLeaf& leaf);

/// The tokens r x of a leaf (its scale, map and offset are left to the caller), from lanes first_lane on. In
/// float32, normals and words come from float_draws.hpp; in float64, and for laws that only sample
/// themselves, from the streams of streams.hpp.
template <typename T>
std::unique_ptr<TokenSource<T>> make_token_source(const TokenLeaf& leaf, std::uint64_t first_lane);

// Tokens with independent coordinates in float32. A fair coin (Rademacher and the like) takes one bit, a few
// atoms, an interval or Laplace's law one word, any other law one word through its quantile function.

/// Two values of probability ½, from one bit.
struct Coin {
  float low, high;
};
/// Uniform on an interval.
struct Segment {
  float centre, half_width;
};
struct Quantile {
  CoordinateLawPtr law;
};
using Recipe = std::variant<Coin, Atoms, Segment, TwoSided, Quantile>;
Recipe recipe_of(const CoordinateLawPtr& law);

/// Lanes for these coordinates: coins first, 64 a lane; then the others, two a lane.
std::uint64_t coordinate_lanes(const std::vector<CoordinateLawPtr>& coordinates);

std::unique_ptr<TokenSource<float>> make_coordinate_source(const std::vector<CoordinateLawPtr>& coordinates,
                                                           std::uint64_t first_lane);

}  // namespace largo::prompts
