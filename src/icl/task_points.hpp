// Points for averages over (w, x_q) by quasi-Monte-Carlo.
#pragma once

#include <cstdint>
#include <memory>

#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::icl {

/// Standard normals in `dimension` coordinates, one row for each point: the first points of Sobol's sequence
/// after a random digital shift (XOR with bits of Stream(seed)). Their number is a power of two, at least
/// `count` and kFewestPoints. Each of kParts equal parts is a net by itself, so that the spread of the parts'
/// averages bounds the error of the average of all. Domain: 1 <= count <= 2^24, dimension <= 3600. Throws
/// Stopped, as do the functions below.
inline constexpr Eigen::Index kParts = 8;
inline constexpr std::int64_t kFewestPoints = 512;  ///< one block of the kernel for each part
Matrix normal_points(Eigen::Index dimension, std::int64_t count, std::uint64_t seed,
                     const Execution& execution = {});

/// Moves points (ω, χ), where ω is the first `task_dimension` coordinates, further out: |ω| and |χ| each by a
/// cube beyond about its mean. Returns the weights, with sum one, that make them standard normal again. No
/// weight is much above the average, and pairs in which both norms are large, which carry R_L - R_∞ off the
/// invariant set, are no longer rare.
Vector stretch(Matrix& points, Eigen::Index task_dimension);

/// Positive weights for such points: of all weights that give the averages of 1, χ_i χ_j, ω_k ω_l, χ_i χ_j
/// |χ|² and χ_i χ_j ω_k ω_l exactly, those of least entropy relative to the `given` ones. Risks are close to
/// quadratic in the query and in the task, so this removes most of their error. Returns the given weights if
/// there are too few points. Cost: O(n d⁸), 0.3 s for d = 5 and n = 8192.
Vector calibrated_weights(const Matrix& points, const Vector& given, Eigen::Index task_dimension,
                          const Execution& execution = {});

struct TaskPoints {
  Matrix points;   ///< stretched
  Vector weights;  ///< calibrated up to kMostCalibrated points
};
inline constexpr std::int64_t kMostCalibrated = 8192;

/// Points and weights from the functions above; the last few sets are kept, for the risks at other lengths.
std::shared_ptr<const TaskPoints> task_points(Eigen::Index task_dimension, Eigen::Index query_dimension,
                                              std::int64_t count, std::uint64_t seed,
                                              const Execution& execution = {});

}  // namespace largo::icl
