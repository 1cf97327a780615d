// Checks the oracle against two computations that share neither its sums nor its expansion:
//   - L = 2, 3, 4: the definition itself, summed over the L − 1 contrasts of the scores;
//   - any L: the master formula by Gauss–Legendre panels in both variables, with the partitions written out
//     by hand.
// Prints the digits that agree, and fails below 40. It takes minutes: run it when the oracle changes.
//
//   oracle_check [direct | gauss S L...]
#include <boost/math/constants/constants.hpp>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "exact/oracle.hpp"

namespace {

using largo::oracle::agreeing_digits;
using largo::oracle::Oracle;
using largo::oracle::OracleMoments;
using largo::oracle::Real;

bool all_good = true;

void report(const char* method, const Real& s, const Real& L, const OracleMoments& expected,
            const OracleMoments& got) {
  const double digits = agreeing_digits(expected, got);
  all_good = all_good && digits >= 40;
  std::printf("%s s = %s L = %s: %.1f digits\n", method, s.str(6).c_str(), L.str(6).c_str(), digits);
  std::fflush(stdout);
}

// --- The definition. g = ḡ + contrasts, where ḡ ~ N(0, 1/L) is independent of the rest and only moves A.

void add_prompt(OracleMoments& sum, const Real& s, const std::vector<Real>& g, const Real& weight) {
  Real total = 0;
  std::vector<Real> p;
  for (const Real& score : g) p.push_back(exp(s * score));
  for (const Real& x : p) total += x;
  Real A = 0, P2 = 0, P3 = 0, B = 0, D = 0, slope2 = 0, slope3 = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    p[i] /= total;
    A += p[i] * g[i];
  }
  for (std::size_t i = 0; i < p.size(); ++i) {
    const Real square = p[i] * p[i];
    const Real c = g[i] - A;
    P2 += square;
    P3 += square * p[i];
    B += p[i] * c * c;
    D += square * c * c;
    slope2 += 2 * square * c;
    slope3 += 3 * square * p[i] * c;
  }
  sum.P2 += weight * P2;
  sum.P3 += weight * P3;
  sum.P2P2 += weight * P2 * P2;
  sum.mean += weight * A;
  sum.mse += weight * ((A - s) * (A - s) + Real(1) / static_cast<unsigned>(g.size()));
  sum.B += weight * B;
  sum.D += weight * D;
  sum.B1_squared += weight * (B - 1) * (B - 1);
  sum.B1_P2 += weight * (B - 1) * P2;
  sum.P2_slope += weight * slope2;
  sum.P3_slope += weight * slope3;
  sum.P2P2_slope += weight * 2 * P2 * slope2;
}

/// Sums over contrast number `axis` and those after it by the trapezoidal rule, which is exact to 45 digits
/// for a Gaussian times a function that is analytic in a strip whose width is the inverse of a few steps.
void over_contrasts(OracleMoments& sum, const Real& s, const Real& step, std::size_t axis,
                    const std::vector<Real>& g, const Real& weight) {
  if (axis == g.size()) return add_prompt(sum, s, g, weight);
  if (weight < 1e-52) return;
  const int reach = static_cast<int>(std::ceil(15.5 / step.convert_to<double>()));
  for (int i = -reach; i <= reach; ++i) {
    // Helmert's contrast: (1, …, 1, −axis, 0, …)/√(axis (axis + 1)).
    const Real z = i * step;
    const Real unit = z / sqrt(Real(axis * (axis + 1)));
    std::vector<Real> moved = g;
    for (std::size_t j = 0; j < axis; ++j) moved[j] += unit;
    moved[axis] -= axis * unit;
    const Real density = exp(-z * z / 2) * step / sqrt(2 * boost::math::constants::pi<Real>());
    over_contrasts(sum, s, step, axis + 1, moved, weight * density);
  }
}

void check_direct(const char* s_text, unsigned L, const char* step) {
  const Real s(s_text);
  OracleMoments expected;
  over_contrasts(expected, s, Real(step), 1, std::vector<Real>(L), 1);
  report("definition", s, L, expected, Oracle(s).at(L));
}

// --- The master formula by Gauss–Legendre panels of 30 points.

struct Point {
  Real at, weight;
};

/// Panels from low to high. The width is a power of two and the ends are integers: rounding leaves no gaps.
std::vector<Point> panels(double low, double high, double width) {
  using Rule = boost::math::quadrature::gauss<Real, 30>;
  std::vector<Point> points;
  for (double a = low; a < high; a += width) {
    const Real half = Real(width) / 2;
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
      const Real x = half * Rule::abscissa()[i];
      points.push_back({a + half - x, half * Rule::weights()[i]});
      points.push_back({a + half + x, half * Rule::weights()[i]});
    }
  }
  return points;
}

void check_gauss(const char* s_text, const std::vector<const char*>& lengths) {
  const Real s(s_text);
  const double s_double = s.convert_to<double>();
  const double longest = log(Real(lengths.back())).convert_to<double>();
  const double low = std::floor(-longest - s_double * s_double / 2 - 110);
  const double high = std::ceil(14.5 * s_double + 5.5);
  // The panels resolve the Gaussian and the scale 1/s of e^{−e^{sg}}, and reach as far as the tilt e^{5sg}.
  struct ScorePoint {
    Real exp_score, x, weight;
  };
  const double width = std::exp2(-std::ceil(std::log2(std::max(1.0, s_double))));
  std::vector<ScorePoint> scores;
  for (const Point& g : panels(-16, 16 + std::ceil(6 * s_double), width)) {
    const Real density = exp(-g.at * g.at / 2) / sqrt(2 * boost::math::constants::pi<Real>());
    scores.push_back({exp(s * g.at), g.at - s, g.weight * density});
  }
  std::vector<OracleMoments> sums(lengths.size());
  for (const Point& y : panels(low, high, s < 2 ? 0.5 : 1)) {
    const Real t = exp(y.at);
    const bool reduced = y.at < -s * s;
    Real phi0 = 0, gap = 0;  // gap = 1 − φ_0
    Real F[6][5] = {};
    for (const ScorePoint& g : scores) {
      const Real T = t * g.exp_score;
      Real one_minus;
      mpfr_neg(one_minus.backend().data(), T.backend().data(), MPFR_RNDN);
      mpfr_expm1(one_minus.backend().data(), one_minus.backend().data(), MPFR_RNDN);
      one_minus = -one_minus;
      const Real decay = exp(-T);
      phi0 += g.weight * decay;
      gap += g.weight * one_minus;
      Real term = g.weight * T * (reduced ? Real(-one_minus) : decay);
      for (int k = 1; k <= 5; ++k) {
        Real with_power = term;
        for (int m = 0; m < 5; ++m) {
          F[k][m] += with_power;
          with_power *= g.x;
        }
        term = k == 1 ? g.weight * T * T * decay : term * T;
      }
    }
    Real log_phi0;
    if (gap < 0.5) {
      mpfr_neg(log_phi0.backend().data(), gap.backend().data(), MPFR_RNDN);
      mpfr_log1p(log_phi0.backend().data(), log_phi0.backend().data(), MPFR_RNDN);
    } else {
      log_phi0 = log(phi0);
    }
    // X = Σ p x, H = Σ p (x² − 1).
    const Real X = F[1][1], H = F[1][2] - F[1][0], P2 = F[2][0], P3 = F[3][0];
    const Real H2 = F[2][4] - 2 * F[2][2] + F[2][0];  // block {H, H}
    const Real HX = F[2][3] - F[2][1], HXX = F[3][4] - F[3][2], HP2 = F[3][2] - F[3][0];
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const Real L(lengths[i]);
      const Real w1 = y.weight * L * exp((L - 1) * log_phi0);
      const Real w2 = w1 * (L - 1) * exp(-log_phi0);
      const Real w3 = w2 * (L - 2) * exp(-log_phi0);
      const Real w4 = w3 * (L - 3) * exp(-log_phi0);
      const Real XX = w1 * F[2][2] + w2 * X * X;
      const Real XXP2 = (w1 * F[4][2] + w2 * (2 * X * F[3][1] + F[2][2] * P2) + w3 * X * X * P2) / 6;
      const Real XP2 = (w1 * F[3][1] + w2 * X * P2) / 2;
      OracleMoments& sum = sums[i];
      sum.P2 += w1 * P2;
      sum.P3 += w1 * P3 / 2;
      sum.P2P2 += (w1 * F[4][0] + w2 * P2 * P2) / 6;
      sum.mean += w1 * X;
      sum.mse += XX;
      sum.B += w1 * H - XX;
      sum.D += w1 * F[2][2] - (w1 * F[3][2] + w2 * X * F[2][1]) + XXP2;
      sum.B1_squared += w1 * H2 + w2 * H * H;
      sum.B1_squared -= w1 * HXX + w2 * (2 * HX * X + H * F[2][2]) + w3 * H * X * X;
      sum.B1_squared += (w1 * F[4][4] + w2 * (4 * F[3][3] * X + 3 * F[2][2] * F[2][2]) +
                         w3 * 6 * F[2][2] * X * X + w4 * X * X * X * X) /
                        6;
      sum.B1_P2 += (w1 * HP2 + w2 * H * P2) / 2 - XXP2;
      sum.P2_slope += 2 * (w1 * F[2][1] - XP2);
      sum.P3_slope += 3 * (w1 * F[3][1] / 2 - (w1 * F[4][1] + w2 * X * P3) / 6);
      sum.P2P2_slope += 4 * (w1 * F[4][1] + w2 * P2 * F[2][1]) / 6;
      sum.P2P2_slope -= 4 * (w1 * F[5][1] + w2 * (X * F[4][0] + 2 * F[3][1] * P2) + w3 * X * P2 * P2) / 24;
    }
  }
  Oracle oracle(s);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    sums[i].mean += s;
    sums[i].B += 1;
    report("Gauss-Legendre", s, Real(lengths[i]), sums[i], oracle.at(Real(lengths[i])));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool only_gauss = argc > 3 && std::string_view(argv[1]) == "gauss";
  const bool only_direct = argc > 1 && std::string_view(argv[1]) == "direct";
  if (only_gauss) {
    check_gauss(argv[2], {argv + 3, argv + argc});
  } else {
    check_direct("0.05", 2, "0.2");
    check_direct("1", 2, "0.08");
    check_direct("7", 2, "0.015");
    check_direct("30", 2, "0.004");
    check_direct("1", 3, "0.08");
    check_direct("4", 3, "0.025");
    check_direct("0.5", 4, "0.16");
    if (!only_direct) {
      check_gauss("0.01", {"1.3", "7", "1e4", "1e12"});
      check_gauss("0.3", {"1.3", "64", "1e12", "1e100"});
      check_gauss("1", {"2", "7", "1e4", "1e12"});
      check_gauss("2.5", {"1.3", "64", "1e6", "1e30"});
      check_gauss("6", {"3", "1e12"});
    }
  }
  std::printf("%s\n", all_good ? "all agree to 40 digits" : "FAILED");
  return all_good ? 0 : 1;
}
