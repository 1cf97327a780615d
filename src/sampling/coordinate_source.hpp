// Tokens with independent coordinates in float32. A fair coin (Rademacher and the like) takes one bit, a few
// atoms or an interval one word, any other law one word through its quantile function.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "largo/measures/coordinate_law.hpp"

namespace largo {

template <typename T>
class TokenSource;

/// Lanes for these coordinates: coins first, 64 a lane; then the others, two a lane.
std::uint64_t coordinate_lanes(const std::vector<CoordinateLawPtr>& coordinates);

std::unique_ptr<TokenSource<float>> make_coordinate_source(const std::vector<CoordinateLawPtr>& coordinates,
                                                           std::uint64_t first_lane);

}  // namespace largo
