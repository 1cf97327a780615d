#include "icl/risk_table.hpp"

#include <cmath>

namespace largo {
namespace {

constexpr double kStep = 1.0 / 128;
constexpr double kLast = 32;

struct Cubic {
  double value, slope;  // the slope in units of the step
};

// Hermite's, between knots at 0 and 1.
Cubic cubic(double x, double f0, double d0, double f1, double d1) {
  const double rise = f1 - f0;
  const double a = d0 + d1 - 2 * rise, b = 3 * rise - 2 * d0 - d1;
  return {f0 + x * (d0 + x * (b + x * a)), d0 + x * (2 * b + 3 * x * a)};
}

}  // namespace

RiskTable::RiskTable(double L) : table_(SoftmaxTable::shared(L)) {
  const auto count = static_cast<std::size_t>(kLast / kStep) + 1;
  knots_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double s = kStep * static_cast<double>(i);
    const RiskStatistics f = risk_statistics(*table_, s * s);
    knots_.push_back({f.p, kStep * 2 * s * f.p_slope, f.phi, kStep * 2 * s * f.phi_slope});
  }
}

RiskStatistics RiskTable::operator()(double square) const {
  constexpr double kLeastSpread = 1e-9;  // slopes in s² are slopes in s over 2s
  const double s = std::max(std::sqrt(square), kLeastSpread);
  if (!(s < kLast)) return risk_statistics(*table_, square);
  const auto i = static_cast<std::size_t>(s / kStep);
  const double x = s / kStep - static_cast<double>(i);
  const Knot &left = knots_[i], &right = knots_[i + 1];
  const Cubic p = cubic(x, left.p, left.p_slope, right.p, right.p_slope);
  const Cubic phi = cubic(x, left.phi, left.phi_slope, right.phi, right.phi_slope);
  const double scale = 1 / (2 * s * kStep);
  return {p.value, phi.value, scale * p.slope, scale * phi.slope, 0};
}

}  // namespace largo
