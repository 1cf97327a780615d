// Points for averages over (w, x_q) by quasi-Monte-Carlo.
#pragma once

#include <cstdint>

#include "largo/numerics/matrix.hpp"

namespace largo {

inline constexpr Eigen::Index kShifts = 8;

/// Standard normals in `dimension` coordinates, a row for each point: the first points of Sobol's sequence in
/// kShifts random digital shifts (XOR with bits of Stream(seed)), one shift after the other, each with a
/// power of two of them; at least `count` in all. Domain: 1 <= count <= 2^24, dimension <= 3600.
Matrix normal_points(Eigen::Index dimension, std::int64_t count, std::uint64_t seed);

}  // namespace largo
