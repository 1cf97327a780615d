#include "measures/score_law_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "numerics/log_sum_exp.hpp"
#include "numerics/sphere_functions.hpp"

namespace largo::measures {
namespace {

using std::numbers::pi;

// The error of the Gaussian rule is e^{-2π²/h²} for step h in v, from its own decay, and e^{-π²/h} for step h
// in u, from the strip; it is slightly larger as both act together.
constexpr double kGaussianStep = 0.4;
constexpr double kScoreStep = 7.0 / 32;  // exact, like its halves, so that lattices have no rounding errors
constexpr int kMostHalvings = 12;

ScoreNodes gaussian_nodes(double centre, double s, const ScoreReach& prompts, int coarsening) {
  ScoreNodes nodes;
  int halvings = 0;
  while (halvings <= kMostHalvings && std::ldexp(kScoreStep, -halvings) > kGaussianStep * s) ++halvings;
  // A component too narrow for a lattice that others share gets nodes of its own.
  const bool alone = halvings > kMostHalvings;
  const double step = coarsening * (alone ? kGaussianStep * s : std::ldexp(kScoreStep, -halvings));
  const double origin = alone ? centre : 0;
  const double around = std::sqrt(-2 * kNegligibleLog);
  const double left = prompts.low ? tail_reach(s) : around;
  // A token this far out matters only if it exists, with probability e^{-g²/2}, and the error that it adds to
  // is at least of order 1/L.
  double right = std::min(tail_reach(s), std::sqrt(2 * (2 * prompts.log_length - kNegligibleLog)));
  nodes.tilt_apart = right < s - around;
  if (!nodes.tilt_apart) right = std::max(right, s + around);
  const auto first = static_cast<std::int64_t>(std::floor((centre - origin - left * s) / step));
  const auto last = static_cast<std::int64_t>(std::ceil((centre - origin + right * s) / step));
  if (!alone) nodes.step = step;
  nodes.first = first;
  const double log_density = std::log(step / s) - std::log(2 * pi) / 2;
  for (std::int64_t k = first; k <= last; ++k) {
    const double score = origin + static_cast<double>(k) * step;
    const double g = ((origin - centre) + static_cast<double>(k) * step) / s;
    nodes.score.push_back(score);
    nodes.v.push_back(g);
    nodes.log_weight.push_back(log_density - g * g / 2);
    nodes.one_minus_v_squared.push_back(1 - g * g);
  }
  return nodes;
}

double log_cosh(double x) { return std::abs(x) + std::log1p(std::exp(-2 * std::abs(x))) - std::numbers::ln2; }

void erase_outside(std::vector<double>& values, std::size_t first, std::size_t last) {
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(last), values.end());
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(first));
}

ScoreNodes bounded_nodes(const ScoreComponent& law, double centre, bool low, int coarsening) {
  const double n = law.order;
  // The terms resolve the strip, the density and its ends, in this order.
  const double step = coarsening / (7 * law.scale + 4 * std::sqrt(n - 1 + std::abs(law.rate)) + 8);
  // With v = tanh q the law and its tilts lie below the larger of their means, and decay beyond it like
  // e^{-(n-1)|q|} or like a Gaussian of variance 1/(n-1).
  const auto mean_at = [&](double tilt) {
    return numerics::sphere_tilt(n, std::abs(tilt + law.rate)).derivative;
  };
  double middle = std::max(mean_at(0), mean_at(2 * law.scale));
  if (low) middle = std::max(middle, mean_at(-2 * law.scale));
  const double reach = std::atanh(std::min(middle, 1 - 1e-9)) + 50 / (n - 1) + 10 / std::sqrt(n - 1);
  const auto last = static_cast<int>(std::ceil(std::asinh(2 / pi * reach) / step));
  ScoreNodes nodes;
  for (int k = -last; k <= last; ++k) {
    const double x = k * step;
    const double q = pi / 2 * std::sinh(x);
    nodes.v.push_back(std::tanh(q));
    nodes.score.push_back(centre + law.scale * nodes.v.back());
    nodes.log_weight.push_back(log_cosh(x) - (n - 1) * log_cosh(q) + law.rate * nodes.v.back());
    nodes.one_minus_v_squared.push_back(std::exp(-2 * log_cosh(q)));
  }
  const double total = numerics::log_sum_exp(nodes.log_weight);
  const auto tilted = [&](std::size_t i) { return nodes.log_weight[i] + 2 * law.scale * nodes.v[i]; };
  const auto tilted_down = [&](std::size_t i) { return nodes.log_weight[i] - 2 * law.scale * nodes.v[i]; };
  double tilted_top = -std::numeric_limits<double>::infinity(), down_top = tilted_top;
  for (std::size_t i = 0; i < nodes.v.size(); ++i) {
    nodes.log_weight[i] -= total;
    tilted_top = std::max(tilted_top, tilted(i));
    down_top = std::max(down_top, tilted_down(i));
  }
  const auto negligible = [&](std::size_t i) {
    return nodes.log_weight[i] < kNegligibleLog && (!low || tilted_down(i) < down_top + kNegligibleLog);
  };
  std::size_t begin = 0;
  std::size_t end = nodes.v.size();
  while (negligible(begin)) ++begin;
  while (tilted(end - 1) < tilted_top + kNegligibleLog) --end;
  for (auto* values : {&nodes.score, &nodes.v, &nodes.log_weight, &nodes.one_minus_v_squared}) {
    erase_outside(*values, begin, end);
  }
  return nodes;
}

}  // namespace

double tail_reach(double s) { return 2 * s + std::sqrt(-2 * kNegligibleLog); }

ScoreNodes tilt_node(const ScoreComponent& component, double reference) {
  const double s = component.scale;
  return {{component.centre - reference + s * s}, {s}, {-s * s / 2}, {1 - s * s}};
}

ScoreNodes score_nodes(const ScoreComponent& component, double reference, const ScoreReach& prompts,
                       int coarsening) {
  const double centre = component.centre - reference;
  switch (component.shape) {
    case ScoreShape::gaussian: return gaussian_nodes(centre, component.scale, prompts, coarsening);
    case ScoreShape::bounded: return bounded_nodes(component, centre, prompts.low, coarsening);
    case ScoreShape::atom: break;
  }
  return {{centre}, {0}, {0}, {1}};
}

}  // namespace largo::measures
