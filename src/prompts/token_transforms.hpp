// Turns random words into coordinates of tokens, in float32. Arrays are aligned to 64 bytes; `count` is a
// multiple of eight. The bits are the same at every SIMD level.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "prompts/prompt_layout.hpp"
#include "runtime/host_device.hpp"

namespace largo::prompts {

/// Turns 52 of 64 random bits into a number in (0, 1).
LARGO_HOST_DEVICE double open_uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

/// tokens[i] is high if bit `bit` of word i is set, else low.
void coins(const std::uint32_t* words, std::size_t count, int bit, float low, float high, float* tokens);

/// Value k if word i is below below[k] and not below below[k - 1]; the last value if below none of them.
struct Atoms {
  std::array<float, kMostAtoms> value{};
  std::array<std::uint32_t, kMostAtoms - 1> below{};
};
void atoms(const std::uint32_t* words, std::size_t count, const Atoms& law, float* tokens);

/// Uniform on centre ± half_width, to the last bit of float32.
void interval(const std::uint32_t* words, std::size_t count, float centre, float half_width, float* tokens);

/// The density is e^{-|x|/scale} up to |x| = bound and a constant: |x| = -scale ln(1 - mass |m|) with m
/// uniform on (-1, 1) and mass = 1 - e^{-bound/scale}. Error: 1e-13 of scale and a rounding, for masses from
/// kLeastMass on.
inline constexpr double kLeastMass = 1e-3;
struct TwoSided {
  double scale = 1, bound = 1, mass = 1;
};
void two_sided(const std::uint32_t* words, std::size_t count, const TwoSided& law, float* tokens);

/// Divides the first `kept` of `all` coordinates (`stride` apart) by the Euclidean norm of all. A token of
/// norm below 2^-50 stays as it is. (Of tokens with two coordinates, one in 2^25 has only zeros as its
/// float32 normals; with more coordinates this is rarer.)
void normalise(float* tokens, std::size_t stride, std::size_t count, std::size_t all, std::size_t kept);

}  // namespace largo::prompts
