#include "icl/task_points.hpp"

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
  const auto each =
      static_cast<Eigen::Index>(std::bit_ceil(static_cast<std::uint64_t>((count + kShifts - 1) / kShifts)));
  const auto width = static_cast<std::size_t>(dimension);
  Matrix points(each * kShifts, dimension);
  std::vector<std::uint64_t> shift(width);
  std::vector<double> uniforms(width);
  for (Eigen::Index part = 0; part < kShifts; ++part) {
    Stream(seed, 0).substream(static_cast<std::uint64_t>(part)).bits(0, shift);
    boost::random::sobol sequence(width);
    for (Eigen::Index i = 0; i < each; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        // Boost leaves out the first point, the origin, which the others are a net with.
        const std::uint64_t bits = (i == 0 ? 0 : sequence()) ^ shift[j];
        uniforms[j] = (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
      }
      simd::normal_inverse(uniforms, uniforms);
      for (std::size_t j = 0; j < width; ++j) {
        points(part * each + i, static_cast<Eigen::Index>(j)) = uniforms[j];
      }
    }
  }
  return points;
}

}  // namespace largo
