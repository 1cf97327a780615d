// exp and log of one number. Their bits do not depend on the C library, which chooses its code by processor.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "numerics/simd_math.hpp"

namespace largo::numerics {

inline double portable_exp(double x) {
  double y = 0;
  numerics::exp(std::span<const double>(&x, 1), std::span<double>(&y, 1));
  return y;
}

inline double portable_log(double x) {
  double y = 0;
  numerics::log(std::span<const double>(&x, 1), std::span<double>(&y, 1));
  return y;
}

/// 2^exponent for exponent <= 1023; zero if that is below the smallest double.
inline double power_of_two(std::int64_t exponent) {
  constexpr std::int64_t kLowest = -2000;
  return std::ldexp(1.0, static_cast<int>(std::max(exponent, kLowest)));
}

}  // namespace largo::numerics
