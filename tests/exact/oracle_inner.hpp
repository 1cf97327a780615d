// The expectations over one score inside the oracle: φ_0(e^y) and F_{k,m}(y), by direct summation over g.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "exact/oracle_kernel.hpp"

namespace largo::oracle {

/// Steps per unit of y and, for s ≥ 1/2, of s g.
inline constexpr int kStepsPerUnit = 14;

/// With x = g − s, T = e^{y + s g}: moment[k][m] = E[x^m T^k e^{−T}], k = 1..5, m = 0..4 (as far as needed).
/// moment[1][m] is E[x^m T (e^{−T} − 1)] where `reduced`: the same for every f(x) with E[f(x) e^{sg}] = 0.
struct InnerValues {
  Real log_phi0;
  std::array<std::array<Real, 5>, 6> moment;
  bool reduced = false;
};

class InnerSums {
 public:
  virtual ~InnerSums() = default;
  /// At y = y_index / (kStepsPerUnit refine).
  virtual InnerValues at(std::int64_t y_index) const = 0;
};

/// s in [1/4, 30]: one grid for y and s g, so that functions of y + s g are read from tables shared by all s.
std::unique_ptr<InnerSums> make_wide_sums(const Real& s, int refine);

/// s in (0, 1/4]: a grid of about 150 points in g.
std::unique_ptr<InnerSums> make_narrow_sums(const Real& s, int refine);

/// log(1 − v) and 1 − e^{−v}, accurate for small v.
Real log1m(const Real& v);
Real one_minus_exp(const Real& v);

}  // namespace largo::oracle
