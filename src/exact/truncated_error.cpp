#include "exact/truncated_error.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "largo/runtime/check.hpp"
#include "numerics/simd_math.hpp"

namespace largo::exact {
namespace {

constexpr const char* kTruncatedError = "truncated_error";

double normal_below(double x) { return std::erfc(-x * std::numbers::sqrt2 / 2) / 2; }

void check_truncation(double s, double M) {
  if (!(s > 0 && s <= 10)) fail(kTruncatedError, "s", s, "above 0 and at most 10");
  if (!(M > 0)) fail(kTruncatedError, "largest_weight", M, "positive");
}

// Nodes for integrals against the standard normal law below ln M / s.
struct ScoreNodes {
  std::vector<double> density;        // times the weight of the rule
  std::vector<double> weight;         // e^{sg}
  std::vector<double> deviation;      // g − s
  std::vector<double> survival = {};  // e^{-t e^{sg}}, for one t after the other

  ScoreNodes(double s, double M) {
    // Beyond these the integrands, even with e^{2sg}, are below rounding.
    constexpr double kReach = 9;
    const double low = -kReach, high = std::min(2 * s + kReach, std::log(M) / s);
    using Rule = boost::math::quadrature::gauss<double, 16>;
    constexpr double kPanel = 0.5;
    // e^{-t e^{sg}} falls within 1/s
    const double width = std::min(kPanel, 1 / s);
    const int panels = std::max(1, static_cast<int>(std::ceil((high - low) / width)));
    if (high <= low) return;
    const double half = (high - low) / panels / 2;
    for (int i = 0; i < panels; ++i) {
      const double centre = low + (2 * i + 1) * half;
      for (std::size_t k = 0; k < Rule::abscissa().size(); ++k) {
        for (const double side : {-1.0, 1.0}) {
          const double g = centre + side * half * Rule::abscissa()[k];
          density.push_back(half * Rule::weights()[k] * std::exp(-g * g / 2) /
                            std::sqrt(2 * std::numbers::pi));
          weight.push_back(std::exp(s * g));
          deviation.push_back(g - s);
        }
      }
    }
    survival.resize(density.size());
  }
};

}  // namespace

TruncatedWeight truncated_weight(double s, double M) {
  check_truncation(s, M);
  const double c = std::log(M) / s;
  const double mean = std::exp(s * s / 2) * normal_below(c - s);
  return {mean, std::exp(2 * s * s) * normal_below(c - 2 * s) - mean * mean};
}

TruncatedError truncated_error(double s, double L, double M, double other_directions) {
  check_truncation(s, M);
  if (!(L >= 2 && L <= 1e22)) fail(kTruncatedError, "L", L, "between 2 and 1e22");
  if (!(other_directions >= 0)) fail(kTruncatedError, "other_directions", other_directions, "at least 0");
  const double above = normal_below(-std::log(M) / s);  // for one token
  TruncatedError result;
  result.beyond = -std::expm1(L * std::log1p(-above));
  result.probability = std::exp(L * std::log1p(-above));
  ScoreNodes nodes(s, M);
  // The trapezoidal rule in y = ln t; the integrand is analytic for |Im y| < π/2 and falls at both ends.
  constexpr double kStep = 0.2;
  const double first = -(20 + std::log(L) + 2 * s * s), last = 12 * s + 10;
  double sum = 0;
  for (double y = first; y <= last; y += kStep) {
    const double t = std::exp(y);
    for (std::size_t i = 0; i < nodes.weight.size(); ++i) nodes.survival[i] = -t * nodes.weight[i];
    numerics::exp(nodes.survival, nodes.survival);
    double lost = above, first_order = 0, second_order = 0;
    for (std::size_t i = 0; i < nodes.weight.size(); ++i) {
      const double w = nodes.weight[i], x = nodes.deviation[i], tw = t * w;
      // 1 − e^{-tw}, which a difference loses where tw is small
      lost += nodes.density[i] * (tw < 1e-5 ? tw * (1 - tw / 2) : 1 - nodes.survival[i]);
      const double weighted = nodes.density[i] * w * nodes.survival[i];
      first_order += weighted * x;
      second_order += weighted * w * (x * x + other_directions);
    }
    const double log_survival = lost < 1 ? std::log1p(-lost) : -std::numeric_limits<double>::infinity();
    if (!std::isfinite(log_survival)) break;
    sum += t * t * L *
           (second_order * std::exp((L - 1) * log_survival) +
            (L - 1) * first_order * first_order * std::exp((L - 2) * log_survival));
  }
  result.error = sum * kStep;
  return result;
}

}  // namespace largo::exact
