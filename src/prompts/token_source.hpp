// Sources for the leaves of a law: they draw tokens a chunk at a time, coordinate by coordinate.
//
// What a source draws for token t of a prompt depends only on (seed, prompt, t) and on the lanes that it was
// given. A lane is a range of 2^40 Philox counters of the prompt's stream and holds two words for each token.
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

/// Largest number of tokens in a prompt, and of lanes for all sources together.
inline constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
inline constexpr std::uint64_t kMostLanes = std::uint64_t{1} << 20;

/// The counters of a lane for the tokens from `first_token` on, which is a multiple of kTokensAtOnce.
inline random::DrawAddress lane_address(std::uint64_t seed, std::uint64_t prompt, std::uint64_t lane,
                                        std::uint64_t first_token) {
  return {seed, prompt, lane * kLaneCounters + first_token / random::kTokensAtOnce * random::kCountersAtOnce};
}

template <typename T>
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Draws tokens first_token, ..., first_token + count - 1 of the prompt (first_token is a multiple of
  /// eight, count <= kChunkTokens). Coordinate j of the i-th goes to tokens[kChunkTokens j + i]; finite
  /// numbers follow up to the next multiple of eight. Sources keep scratch memory: one for each thread.
  virtual void draw(std::uint64_t seed, std::uint64_t prompt, std::uint64_t first_token, std::size_t count,
                    T* tokens) = 0;
};

// The source of tokens of a leaf of a law (largo/measures/token_leaf.hpp).

/// Number of lanes that the source of this leaf reads.
std::uint64_t lanes_of(const TokenLeaf& leaf);

/// The source of the tokens r x of a leaf, from lane first_lane on; scale, map and offset are left to the
/// caller. In float32, normals and words come from float_draws.hpp; in float64, and for laws that only sample
/// themselves, from the streams of streams.hpp.
template <typename T>
std::unique_ptr<TokenSource<T>> make_token_source(const TokenLeaf& leaf, std::uint64_t first_lane);

/// How the noise is drawn beside these covariates.
NoiseDraws noise_draws(const TokenLeaf& covariates, const TokenLeaf& noise);

/// The source of the tokens (x, ε): covariates first, then the noise.
std::unique_ptr<TokenSource<float>> make_token_source(const TokenLeaf& covariates, const TokenLeaf& noise,
                                                      std::uint64_t first_lane);

// Tokens with independent coordinates in float32. A fair coin (Rademacher and the like) takes one bit; a few
// atoms, an interval or Laplace's law take one word; any other law, one word and its quantile function.

/// Two values with probability ½ each, from one bit.
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

/// Number of lanes for these coordinates: coins come first, 64 per lane, then the others, two per lane.
std::uint64_t coordinate_lanes(const std::vector<CoordinateLawPtr>& coordinates);

std::unique_ptr<TokenSource<float>> make_coordinate_source(const std::vector<CoordinateLawPtr>& coordinates,
                                                           std::uint64_t first_lane);

}  // namespace largo::prompts
