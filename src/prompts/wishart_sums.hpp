// Chi-squared variables, and the sums of linear attention that are made from them (linear_prompt.hpp), for
// CPU and GPU. The caller draws the candidates.
//
// `next()` gives the candidates in order. `Next::logarithm(x)` is the logarithm of the CPU or GPU; both have
// the same bits.
#pragma once

#include <cstdint>

#include "prompts/collapsed_token.hpp"
#include "runtime/host_device.hpp"

namespace largo::prompts {

/// A normal and a uniform variable.
struct Candidate {
  double normal = 0, uniform = 0;
};

/// Distance in counters from the normals to the uniforms of a prompt.
inline constexpr std::uint64_t kUniforms = std::uint64_t{1} << 32;

/// χ² with n degrees of freedom, 0 <= n <= 2^53: exactly 0 for n = 0, the square of a normal for n = 1, and
/// by rejection from n = 2 on (G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables,
/// ACM TOMS 26, 2000). With k = n/2, δ = k - 1/3 and w = (1 + x/√(9δ))³, 2δw is accepted if ln u < x²/2 +
/// δ(1 - w + ln w). The law is exact up to the granularity of the draws (24 and 32 bits; |x| <= 6.66).
template <typename Next>
LARGO_HOST_DEVICE double chi_squared(std::int64_t degrees, Next& next) {
  if (degrees == 0) return 0;
  if (degrees == 1) {
    const double x = next().normal;
    return x * x;
  }
  const double delta = static_cast<double>(degrees) / 2 - 1.0 / 3;
  const double c = 1 / runtime::root(9 * delta);
  for (;;) {
    const Candidate drawn = next();
    const double x = drawn.normal, u = drawn.uniform;
    const double base = 1 + c * x;
    if (base <= 0) continue;
    const double w = base * base * base;
    const double xx = x * x;
    // This bound on the logarithms decides 49 times in 50.
    if (u < 1 - 0.0331 * xx * xx) return 2 * delta * w;
    if (Next::logarithm(u) < xx / 2 + delta * (1 - w + Next::logarithm(w))) return 2 * delta * w;
  }
}

/// S e and S b of a prompt of L tokens under linear attention, in the fields of the softmax sums.
template <typename Next>
LARGO_HOST_DEVICE CollapsedSums linear_sums(std::int64_t L, double alpha, double beta, Next& next) {
  constexpr double kSmallest = 1e-40;  // least X: one token may have nothing along e, and p2 is a divisor
  const auto length = static_cast<double>(L);
  const double X = runtime::larger_of(chi_squared(L, next), kSmallest);
  const double zeta = next().normal;
  const double Y = chi_squared(L - 1, next);
  const double ee = X / length;
  const double ef = runtime::root(X) * zeta / length;
  const double ff = (zeta * zeta + Y) / length;
  CollapsedSums sums;
  sums.g = ee;
  sums.h = ef;
  sums.vg = alpha * ee + beta * ef;
  sums.vh = alpha * ef + beta * ff;
  sums.p2 = ee / length;
  sums.p2v = sums.vg / length;
  // (α²S_ee + 2αβS_ef + β²S_ff)/L, split as in `spread`, so that nothing cancels: one token leaves zero.
  sums.p2vv = sums.p2v * (sums.p2v / sums.p2) + beta * beta * (Y / length) / length;
  return sums;
}

}  // namespace largo::prompts
