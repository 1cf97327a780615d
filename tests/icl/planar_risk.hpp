// R_L(aI, b) for Σ = Σ_q = Ω = I, as an integral over |x| ~ χ_d written in s = a|x|: the statistics of
// softmax weights are needed at fixed s, and a enters through the weights alone,
//
//   R = ½ d (ab - 1)² + ½ Σ_k h w(s_k/a) [ b² s_k² φ_k + b² (d + τ²) p_k + 2b s_k²/a p_k ],
//
// where w(r) is r times the density of χ_d, by the trapezoidal rule in ln s. Any type of number will do.
#pragma once

#include <cmath>
#include <vector>

#include "largo/exact/softmax_moments.hpp"

namespace largo::test {

template <typename Real>
struct PlanarNode {
  Real s, p, phi;  ///< φ = F - 1
};

template <typename Real>
struct PlanarPoint {
  Real value, slope_a, slope_b;
};

template <typename Real>
class PlanarRisk {
 public:
  PlanarRisk(int d, double noise, double step, std::vector<PlanarNode<Real>> nodes)
      : d_(d), noise_(noise), step_(step), nodes_(std::move(nodes)) {}

  PlanarPoint<Real> at(const Real& a, const Real& b) const {
    using std::exp;
    using std::log;
    // Γ(d/2) 2^{d/2 - 1}, up from d = 1: √(π/2), and d = 2: 1
    Real norm = d_ % 2 == 0 ? Real(1) : half_root_pi();
    for (int k = d_ - 2; k > 0; k -= 2) norm *= k;
    const Real miss = a * b - 1, label = d_ + noise_;
    PlanarPoint<Real> sum{d_ * miss * miss / 2, d_ * miss * b, d_ * miss * a};
    for (const PlanarNode<Real>& node : nodes_) {
      const Real r = node.s / a, square = node.s * node.s;
      const Real weight = step_ / norm * exp(d_ * log(r) - r * r / 2) / 2;
      const Real bracket = b * b * (square * node.phi + label * node.p) + 2 * b * square / a * node.p;
      sum.value += weight * bracket;
      // d w(s/a)/da = -w (d - r²)/a
      sum.slope_a += weight * (-(d_ - r * r) / a * bracket - 2 * b * square / (a * a) * node.p);
      sum.slope_b += weight * (2 * b * (square * node.phi + label * node.p) + 2 * square / a * node.p);
    }
    return sum;
  }

 private:
  static Real half_root_pi() {
    using std::acos;
    using std::sqrt;
    return sqrt(acos(Real(-1)) / 2);
  }
  int d_;
  Real noise_, step_;
  std::vector<PlanarNode<Real>> nodes_;
};

/// For a between 0.2 and 2, d >= 3, from softmax_moments(): errors below 1e-12 of R_L - R_∞.
inline PlanarRisk<double> planar_risk(int d, double noise, double L) {
  constexpr double kStep = 0.08;
  std::vector<PlanarNode<double>> nodes;
  for (double x = std::log(1e-6); x < std::log(40.0); x += kStep) {
    const SoftmaxMoments m = softmax_moments(std::exp(x), L);
    nodes.push_back({m.s, m.P2.value, -m.P2.value - 6 * m.P3.value + 6 * m.P2P2.value});
  }
  return {d, noise, kStep, nodes};
}

struct PlanarMinimum {
  double a, b, risk;
};

/// Finds the minimum by Newton's method with a damped Hessian, starting from (a, b).
inline PlanarMinimum minimise(const PlanarRisk<double>& risk, double a, double b) {
  constexpr double kDifference = 1e-4;
  double damping = 1e-3;
  for (int round = 0; round < 400; ++round) {
    const PlanarPoint<double> here = risk.at(a, b);
    const auto along = [&](double da, double db) {
      const PlanarPoint<double> ahead = risk.at(a + da, b + db), behind = risk.at(a - da, b - db);
      return PlanarPoint<double>{0, (ahead.slope_a - behind.slope_a) / (2 * kDifference),
                                 (ahead.slope_b - behind.slope_b) / (2 * kDifference)};
    };
    const PlanarPoint<double> in_a = along(kDifference, 0), in_b = along(0, kDifference);
    const double mixed = (in_a.slope_b + in_b.slope_a) / 2;
    const double aa = in_a.slope_a + damping, bb = in_b.slope_b + damping;
    const double determinant = aa * bb - mixed * mixed;
    const double move_a = -(bb * here.slope_a - mixed * here.slope_b) / determinant;
    const double move_b = -(aa * here.slope_b - mixed * here.slope_a) / determinant;
    const bool downhill = aa > 0 && determinant > 0 && a + move_a > 0;
    const double slack = 1e-15 * (1 + std::abs(here.value));
    if (!downhill || risk.at(a + move_a, b + move_b).value > here.value + slack) {
      damping = 4 * damping + 1e-12;
      continue;
    }
    a += move_a;
    b += move_b;
    damping /= 8;
    if (std::hypot(move_a, move_b) < 1e-14) break;
  }
  return {a, b, risk.at(a, b).value};
}

}  // namespace largo::test
