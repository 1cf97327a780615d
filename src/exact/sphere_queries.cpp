#include "exact/sphere_queries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "exact/sphere_law.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

using std::numbers::pi;

// d ln f / ds² of the statistics, at most: E[P_3] grows like e^{3s²}.
constexpr double kSteepest = 4;
// As functions of s they have fronts about as wide as those of e^{-s²}, where they condense: nodes at most so
// far apart in s.
constexpr double kWidest = 0.3;
// Left out is what is below e^-kDepth of other nodes.
constexpr double kDepth = 34;
// The density is never steeper than 1/√ at an end: e^{-x/2} is left.
constexpr double kFarthest = 72;

// All queries have the same spread: averages over the sphere.
QueryNode constant_node(const SphereSpectrum& spectrum) {
  const double e = spectrum.size();
  const double w = spectrum.W.sum(), g = spectrum.G.sum();
  QueryNode node;
  node.square = spectrum.levels[0] * spectrum.largest;
  node.fine = spectrum.products(1, w / e, g / e, spectrum.WG.sum() / e,
                                (w * g + 2 * spectrum.product.sum()) / (e * (e + 2)));
  node.coarse = node.fine;
  return node;
}

// A quarter of the circle, the trapezoidal rule; odd powers of the coordinates cancel between the quarters.
// Functions of s are smooth on the scale 1, so the number of nodes grows like its range.
std::vector<QueryNode> circle_nodes(const SphereSpectrum& spectrum) {
  const double gap = spectrum.levels[1] - spectrum.levels[0];
  const auto intervals = static_cast<int>(40 + 16 * std::sqrt(gap * spectrum.largest));
  std::vector<QueryNode> nodes;
  for (int i = 0; i <= intervals; ++i) {
    const double weight = (i == 0 || i == intervals ? 0.5 : 1.0) / intervals;
    const double sine = std::sin(0.5 * pi * i / intervals);
    const double cosine = std::sin(0.5 * pi * (intervals - i) / intervals);
    const Eigen::Vector2d x(cosine * cosine, sine * sine);
    const double w = spectrum.W.dot(x), g = spectrum.G.dot(x);
    QueryNode& node = nodes.emplace_back();
    node.square = spectrum.largest * spectrum.levels.dot(x);
    node.fine = spectrum.products(
        weight, weight * w, weight * g, weight * spectrum.WG.dot(x),
        weight * (w * g + 2 * x[0] * x[1] * (spectrum.product(0, 1) + spectrum.product(1, 0))));
    node.coarse = node.fine;
  }
  return nodes;
}

struct Place : SpherePlace {
  double square = 0;
  double weight = 0;
  double log_size = 0;  ///< of weight times density, up to a factor of the order 1
};

Place place_at(const SphereSpectrum& spectrum, Eigen::Index interval, double x, double step) {
  const double low = spectrum.levels[interval], high = spectrum.levels[interval + 1];
  const double gap = high - low;
  Place place;
  place.interval = interval;
  place.lower = gap / (1 + std::exp(-x));
  place.upper = gap / (1 + std::exp(x));
  place.square = spectrum.largest * (x < 0 ? low + place.lower : high - place.upper);
  place.weight = step * place.lower / gap * place.upper;
  place.log_size = std::log(place.weight) + SphereContour(spectrum, place).log_size();
  return place;
}

// The largest step in x for which the trapezoidal rule has kSphereDigits on an interval.
//
// Where f(s²) = e^{cs²}, |c| <= kSteepest, puts the maximum of the integrand to x, its curvature there is
// α(x); with α the largest of them, e^{-αx - e^{-x}} is the model. On short intervals f varies little and a
// wider strip, |Im x| < y, can be used: then the model is (cosh x/2)^-4α, and f at most grows by its slope
// times how far the arc at y reaches beyond the interval.
double step_for(const SphereSpectrum& spectrum, Eigen::Index interval) {
  constexpr double kProbe = 0.25, kProbed = 14;
  const double gap = (spectrum.levels[interval + 1] - spectrum.levels[interval]) * spectrum.largest;
  double tilted = 0.5, untilted = 0.5, fastest = 0;
  double before = place_at(spectrum, interval, -kProbed - kProbe, 1).log_size;
  Place here = place_at(spectrum, interval, -kProbed, 1);
  for (double x = -kProbed; x <= kProbed; x += kProbe) {
    const Place after = place_at(spectrum, interval, x + kProbe, 1);
    const double slope = (after.log_size - before) / (2 * kProbe);
    const double curvature = (after.log_size - 2 * here.log_size + before) / (kProbe * kProbe);
    const double share = 1 / (1 + std::exp(-x));
    const double speed = gap * share * (1 - share);  // of s²
    fastest = std::max(fastest, 0.5 * speed / std::sqrt(here.square));
    if (std::abs(slope) <= kSteepest * speed) tilted = std::max(tilted, slope * (1 - 2 * share) - curvature);
    untilted = std::max(untilted, -curvature);
    before = here.log_size;
    here = after;
  }
  double step = 2 * pi / needed_frequency(tilted);
  for (double y = 1.6; y < 3.1; y += 0.1) {
    const double reach = 0.5 / std::sin(y) - 0.5;
    const double growth = kSteepest * gap * (1 + reach) - 4 * untilted * std::log(std::cos(0.5 * y));
    step = std::max(step, 2 * pi * y / (kSphereDigits + growth));
  }
  return std::min(step, kWidest / fastest);
}

// Without those that are below e^-kDepth of another for every f of slope kSteepest.
std::vector<Place> that_matter(const std::vector<Place>& places) {
  std::vector<double> bound(places.size(), -std::numeric_limits<double>::infinity());
  auto sweep = [&](std::size_t i, std::size_t previous) {
    const double apart = std::abs(places[i].square - places[previous].square);
    bound[i] = std::max({bound[i], places[i].log_size, bound[previous] - kSteepest * apart});
  };
  bound.front() = places.front().log_size;
  for (std::size_t i = 1; i < places.size(); ++i) sweep(i, i - 1);
  for (std::size_t i = places.size() - 1; i > 0; --i) sweep(i - 1, i);
  std::vector<Place> kept;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i].log_size > bound[i] - kDepth) kept.push_back(places[i]);
  return kept;
}

}  // namespace

std::vector<QueryNode> sphere_query_nodes(double radius, const Matrix& scores, const Matrix& W,
                                          const Matrix& G, const Matrix& WG, const Execution& execution) {
  const SphereSpectrum spectrum = sphere_spectrum(radius, scores, W, G, WG);
  if (spectrum.levels.size() == 1) return {constant_node(spectrum)};
  if (spectrum.size() == 2) return circle_nodes(spectrum);
  std::vector<Place> places;
  for (Eigen::Index interval = 0; interval + 1 < spectrum.levels.size(); ++interval) {
    const double step = step_for(spectrum, interval);
    const auto last = static_cast<int>(kFarthest / step);
    for (int i = -last; i <= last; ++i) {
      check_stop(execution);
      places.push_back(place_at(spectrum, interval, i * step, step));
    }
  }
  std::vector<QueryNode> nodes;
  for (const Place& place : that_matter(places)) {
    check_stop(execution);
    QueryNode& node = nodes.emplace_back();
    node.square = place.square;
    SphereContour(spectrum, place).add_to(node, place.weight);
  }
  return nodes;
}

}  // namespace largo
