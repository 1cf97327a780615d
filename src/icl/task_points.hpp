// Points for averages over (w, x_q) by quasi-Monte-Carlo.
#pragma once

#include <cstdint>

#include "largo/numerics/matrix.hpp"

namespace largo {

/// Standard normals in `dimension` coordinates, a row for each point: the first points of Sobol's sequence
/// after a random digital shift (XOR with bits of Stream(seed)); a power of two of them, at least `count` and
/// kParts. Every kParts-th part of them is a net by itself, so that the spread of the parts' averages bounds
/// the error of the average of all. Domain: 1 <= count <= 2^24, dimension <= 3600.
inline constexpr Eigen::Index kParts = 8;
Matrix normal_points(Eigen::Index dimension, std::int64_t count, std::uint64_t seed);

}  // namespace largo
