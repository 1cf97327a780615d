// exp and log of one number with bits that do not depend on the C library, which chooses by processor.
#pragma once

#include "largo/numerics/simd_math.hpp"

namespace largo {

inline double portable_exp(double x) {
  double y = 0;
  simd::exp(std::span<const double>(&x, 1), std::span<double>(&y, 1));
  return y;
}

inline double portable_log(double x) {
  double y = 0;
  simd::log(std::span<const double>(&x, 1), std::span<double>(&y, 1));
  return y;
}

}  // namespace largo
