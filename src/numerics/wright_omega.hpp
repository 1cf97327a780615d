// Wright's omega function on the line.
#pragma once

#include <cmath>

namespace largo::numerics {

/// The w > 0 with w + ln w = z, by the fourth-order iteration of Fritsch, Shafer and Crowley (Comm. ACM 16,
/// 1973). Relative error 1e-15; below z = -40 it is e^z.
inline double wright_omega(double z) {
  if (z < -40) return std::exp(z);
  double w = z > 1 ? z - std::log(z) * (1 - 1 / z) : std::exp(z < -1 ? z - std::exp(z) : 0.5 * z - 0.5);
  for (int i = 0; i < 3; ++i) {
    const double r = z - w - std::log(w);
    if (std::abs(r) < 1e-15 * (1 + std::abs(z))) break;
    const double t = (1 + w) * (1 + w + r * (2.0 / 3));
    w *= 1 + r / (1 + w) * (t - 0.5 * r) / (t - r);
  }
  return w;
}

}  // namespace largo::numerics
