// Tokens with independent coordinates in float32. A fair coin (Rademacher and the like) takes one bit, a few
// atoms, an interval or Laplace's law one word, any other law one word through its quantile function.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "largo/measures/coordinate_law.hpp"
#include "prompts/token_transforms.hpp"

namespace largo {

template <typename T>
class TokenSource;

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

}  // namespace largo
