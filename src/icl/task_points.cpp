#include "icl/task_points.hpp"

#include <algorithm>
#include <bit>
#include <boost/random/sobol.hpp>
#include <vector>

#include "largo/numerics/check.hpp"
#include "largo/numerics/simd_math.hpp"
#include "largo/sampling/streams.hpp"

namespace largo {

Matrix normal_points(Eigen::Index dimension, std::int64_t count, std::uint64_t seed) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  constexpr Eigen::Index kMostDimensions = 3600;  // of Boost's table
  if (count < 1 || count > kMost) fail("general_risk", "nodes", static_cast<double>(count), "1 to 2^24");
  if (dimension > kMostDimensions) {
    fail("general_risk", "dimension", static_cast<double>(dimension), "at most 3600");
  }
  const auto size = static_cast<Eigen::Index>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(count, kParts))));
  const auto width = static_cast<std::size_t>(dimension);
  Matrix points(size, dimension);
  std::vector<std::uint64_t> shift(width);
  std::vector<double> uniforms(width);
  Stream(seed, 0).bits(0, shift);
  boost::random::sobol sequence(width);
  for (Eigen::Index i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      // Boost leaves out the first point, the origin, which the others are a net with.
      const std::uint64_t bits = (i == 0 ? 0 : sequence()) ^ shift[j];
      uniforms[j] = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
    }
    simd::normal_inverse(uniforms, uniforms);
    points.row(i) = Eigen::Map<const Vector>(uniforms.data(), dimension).transpose();
  }
  return points;
}

}  // namespace largo
