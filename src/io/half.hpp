// The two 16-bit floating-point formats of model files, widened exactly to double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace largo {

/// IEEE binary16 (1 sign, 5 exponent, 10 fraction bits), exact for every pattern: subnormals, signed zeros
/// and infinities as they are, every NaN to a quiet NaN.
inline double from_float16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0x1f) {
    magnitude =
        fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = fraction * 0x1p-24;
  } else {
    // Re-bias 15 -> 1023 and widen the fraction 10 -> 52 bits: a normal half is a normal double.
    magnitude = std::bit_cast<double>((static_cast<std::uint64_t>(exponent) + (1023 - 15)) << 52 |
                                      static_cast<std::uint64_t>(fraction) << 42);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// bfloat16 is the upper half of a binary32; exact for every pattern.
inline double from_bfloat16(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

}  // namespace largo
