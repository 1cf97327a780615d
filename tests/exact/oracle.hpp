// A reference for the statistics of softmax weights over L Gaussian scores, correct to more than 40 digits.
//
//   p_i = e^{s g_i} / Σ_j e^{s g_j},  g_i i.i.d. N(0, 1),  P_k = Σ p_i^k,
//   A = Σ p_i g_i,  B = Σ p_i (g_i − A)²,  D = Σ p_i² (g_i − A)².
//
// Method. With x_i = g_i − s and S(k, f) = Σ p_i^k f(x_i), every statistic is a combination of expectations
//
//   E[∏_a S(k_a, f_a)] = 1/Γ(K) ∫ Σ_{set partitions π} L(L−1)…(L−|π|+1) ∏_{B∈π} F_B(y) φ_0(e^y)^{L−|π|} dy,
//   F_B(y) = E[∏_{a∈B} f_a(x) · e^{k_B (y + s g)} e^{−e^{y + s g}}],   K = Σ k_a,  k_B = Σ_{a∈B} k_a,
//
// evaluated as it stands, F_B by its own sum over g for every block. Neither the Gaussian shift (F_k from
// φ_0) nor integration by parts (moments in g from power sums) is used, so that the library's use of them can
// be checked. Centring at g = s, and −expm1 in place of e^{−e^x} where t is small, avoid the cancellation of
// O(1) terms in quantities of size 1/L; the only closed forms used there are E[e^{sg}] = e^{s²/2},
// E[x e^{sg}] = 0 and E[(x² − 1) e^{sg}] = 0.
//
// Both sums are trapezoidal with step 1/14 in y and s g (finer in g for s < 1/2). The integrands are analytic
// for |Im| < π/2 with transforms like Γ(K + iω), K ≤ 5, which gives an error of 1e-52 at ω = 2π·14.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "exact/oracle_kernel.hpp"

namespace largo::oracle {

struct OracleMoments {
  Real P2, P3, P2P2;                    ///< E[P_2], E[P_3], E[P_2²]
  Real mean, mse;                       ///< E[A], E[(A − s)²]
  Real B, D;                            ///< E[B], E[D]
  Real B1_squared, B1_P2;               ///< E[(B − 1)²], E[(B − 1) P_2]
  Real P2_slope, P3_slope, P2P2_slope;  ///< the derivatives in s
  Real normalisation = 1;               ///< E[P_1], computed: 1 up to the error of the sums
  double digits_lost = 0;               ///< log10 of the worst Σ|terms| / |value| over the twelve

  static constexpr int kCount = 12;
  std::array<Real, kCount> values() const;
};

/// Worst relative difference over the twelve values, as a number of agreeing digits (0 to 70).
double agreeing_digits(const OracleMoments& a, const OracleMoments& b);

/// The exact values where they are elementary: s = 0 (p_i = 1/L) or L = 1 (p_1 = 1). Throws elsewhere.
OracleMoments closed_form(const Real& s, const Real& L);

class InnerSums;  // the F_B and φ_0 at one y

/// Domain: 0 < s ≤ 30. Error: see at(). Cost: nothing until at() is called.
class Oracle {
 public:
  /// `refine` divides both steps and lengthens the tails that are kept: refine = 2 checks refine = 1.
  explicit Oracle(const Real& s, int refine = 1);
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  /// All statistics at a real L in [1, 1e300].
  /// Error: relative, 10^(digits_lost − 52) or less. digits_lost is 9 at worst over L ≥ 2 (s = 30), 11
  /// at L = 1.01; nearer to 1, E[B] and E[D] vanish and 40 digits are no longer certain.
  /// Throws std::runtime_error when E[P_1] = 1 fails by more than 1e-50.
  /// Edge values: L = 1 is integrated like any other; E[A], E[B], E[D] and the slopes are then 0 up to 1e-50.
  /// Cost: 50 ms, and up to several seconds for new values of y, which are kept for the next L.
  OracleMoments at(const Real& L);

 private:
  struct Node;
  const Node& node(std::int64_t y_index);
  std::int64_t decay_index(const Real& L);

  Real s_;
  int refine_;
  std::unique_ptr<InnerSums> inner_;
  std::map<std::int64_t, Node> nodes_;
};

}  // namespace largo::oracle
