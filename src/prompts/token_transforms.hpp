// From random words to coordinates of tokens, in float32. Arrays are aligned to 64 bytes; `count` is a
// multiple of eight. The same bits at every SIMD level.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "prompts/prompt_layout.hpp"
#include "runtime/host_device.hpp"

namespace largo::prompts {

/// 52 of 64 random bits as a number of (0, 1).
LARGO_HOST_DEVICE double open_uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

/// tokens[i] = high or low, as bit `bit` of word i says.
void coins(const std::uint32_t* words, std::size_t count, int bit, float low, float high, float* tokens);

/// Value k where word i is below below[k] and not below below[k - 1]; the last one where it is below none.
struct Atoms {
  std::array<float, kMostAtoms> value{};
  std::array<std::uint32_t, kMostAtoms - 1> below{};
};
void atoms(const std::uint32_t* words, std::size_t count, const Atoms& law, float* tokens);

/// Uniform on centre ± half_width, to the last bit of float32.
void interval(const std::uint32_t* words, std::size_t count, float centre, float half_width, float* tokens);

/// Density e^{-|x|/scale} up to |x| = bound: |x| = -scale ln(1 - mass |m|) with m uniform on (-1, 1) and mass
/// = 1 - e^{-bound/scale}. Error: 1e-13 of scale, and a rounding; for masses from kLeastMass on.
inline constexpr double kLeastMass = 1e-3;
struct TwoSided {
  double scale = 1, bound = 1, mass = 1;
};
void two_sided(const std::uint32_t* words, std::size_t count, const TwoSided& law, float* tokens);

/// Divides the first `kept` of `all` coordinates (`stride` apart) by the Euclidean norm of all. A token of
/// norm below 2^-50 (one in 2^25 has all its float32 normals zero when there are two of them, fewer else)
/// stays as it is.
void normalise(float* tokens, std::size_t stride, std::size_t count, std::size_t all, std::size_t kept);

}  // namespace largo::prompts
