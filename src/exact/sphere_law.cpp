#include "exact/sphere_law.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "numerics/factor.hpp"
#include "runtime/distribute.hpp"

namespace largo::exact {
namespace {

using std::numbers::pi;

// Eigenvalues below the share kNegligible of the largest are zero except for rounding; those within kSame of
// each other, relatively, count as one.
constexpr double kNegligible = 1e-26;
constexpr double kSame = 1e-13;
// The contour ends where the integrand is e^-kDepth of its maximum. Nodes this far below others are left out.
constexpr double kDepth = 34;

}  // namespace

double needed_frequency(double alpha) {
  double tau = 2 / pi * kSphereDigits;
  auto fall = [alpha](double t) {
    return t * std::atan(t / alpha) - 0.5 * alpha * std::log1p(t * t / (alpha * alpha));
  };
  while (fall(tau) < kSphereDigits) tau *= 1.02;
  return tau;
}

SphereSpectrum sphere_spectrum(double radius, const Matrix& scores, const Matrix& W, const Matrix& G,
                               const Matrix& WG) {
  const Eigen::Index size = scores.cols();
  Vector squares = Vector::Zero(size);
  Matrix map = Matrix::Zero(scores.rows(), size);
  if (scores.rows() > 0) {
    const numerics::SingularValues svd = numerics::singular_values(radius * scores);
    squares.head(svd.values.size()) = svd.values.cwiseAbs2();
    squares.reverseInPlace();
    map = radius * scores * svd.right.rowwise().reverse();
  }
  SphereSpectrum spectrum;
  spectrum.radius_square = radius * radius;
  // The coarser rule, with twice this step, has kSphereDigits. All e singularities of power 1/2 may lie on
  // one side, and the forms add to them.
  spectrum.contour_step = pi / needed_frequency(0.5 * static_cast<double>(size + 3));
  spectrum.largest = squares[size - 1] > kNoSpread ? squares[size - 1] : 0;
  std::vector<Eigen::Index> first;
  for (Eigen::Index j = 0; j < size; ++j) {
    if (squares[j] <= kNegligible * spectrum.largest || spectrum.largest == 0) {
      squares[j] = 0;
      map.col(j).setZero();  // consistent with s²
    }
    if (first.empty() || squares[j] - squares[first.back()] > kSame * squares[j]) first.push_back(j);
  }
  const auto groups = static_cast<Eigen::Index>(first.size());
  first.push_back(size);
  spectrum.levels = spectrum.counts = spectrum.W = spectrum.G = spectrum.WG = Vector::Zero(groups);
  spectrum.product = Matrix::Zero(groups, groups);
  const Matrix w = map.transpose() * W * map, g = map.transpose() * G * map;
  const Vector h = (map.transpose() * WG * map).diagonal();
  const Matrix wg = w.cwiseProduct(g);
  for (Eigen::Index i = 0; i < groups; ++i) {
    const Eigen::Index at = first[static_cast<std::size_t>(i)];
    const Eigen::Index count = first[static_cast<std::size_t>(i) + 1] - at;
    spectrum.counts[i] = static_cast<double>(count);
    if (spectrum.largest > 0) spectrum.levels[i] = squares.segment(at, count).mean() / spectrum.largest;
    spectrum.W[i] = w.diagonal().segment(at, count).sum();
    spectrum.G[i] = g.diagonal().segment(at, count).sum();
    spectrum.WG[i] = h.segment(at, count).sum();
    for (Eigen::Index k = 0; k < groups; ++k) {
      const Eigen::Index other = first[static_cast<std::size_t>(k)];
      const Eigen::Index others = first[static_cast<std::size_t>(k) + 1] - other;
      spectrum.product(i, k) = wg.block(at, other, count, others).sum();
    }
  }
  return spectrum;
}

SphereContour::SphereContour(const SphereSpectrum& spectrum, const SpherePlace& place)
    : spectrum_(spectrum), distances_(spectrum.levels.size()) {
  const Vector& levels = spectrum.levels;
  const Eigen::Index below = place.interval, above = below + 1, last = levels.size() - 1;
  for (Eigen::Index i = 0; i <= below; ++i) distances_[i] = -(levels[below] - levels[i] + place.lower);
  for (Eigen::Index i = above; i <= last; ++i) distances_[i] = levels[i] - levels[above] + place.upper;
  find_saddle();
}

// Finds the saddle point of Σ -n/2 ln(1 - 2ud), by bisection between zero and the branch point on the side
// where the sum falls. The saddle point is at least 1/e as far from that branch point as zero is.
void SphereContour::find_saddle() {
  const double at_zero = spectrum_.counts.dot(distances_);
  const double end = 0.5 / distances_[at_zero > 0 ? 0 : distances_.size() - 1];
  double low = 0, high = 1;
  for (int i = 0; i < 20; ++i) {
    const double middle = 0.5 * (low + high);
    double slope = 0;
    for (Eigen::Index g = 0; g < distances_.size(); ++g)
      slope += spectrum_.counts[g] * distances_[g] / (1 - 2 * middle * end * distances_[g]);
    ((slope > 0) == (at_zero > 0) ? low : high) = middle;
  }
  variances_ = (1 - 2 * low * end * distances_.array()).inverse();
  rates_ = 2 * distances_.cwiseProduct(variances_);
  // As wide as the integrand, but not beyond the branch points.
  const double curvature = 0.5 * spectrum_.counts.dot(rates_.cwiseAbs2());
  height_ = 1 / std::max(rates_.cwiseAbs().maxCoeff(), std::sqrt(curvature));
  for (Eigen::Index g = 0; g < distances_.size(); ++g)
    log_top_ += 0.5 * spectrum_.counts[g] * std::log(variances_[g]);
}

void SphereContour::add_to(QueryNode& node, double weight) const {
  const Eigen::Index groups = distances_.size();
  const double e = spectrum_.size();
  const double scale = weight * std::exp(log_top_) * height_ * spectrum_.contour_step / pi;
  Eigen::Matrix<double, Eigen::Dynamic, 2> D(groups, 2), mixed(groups, 2);
  double highest = 0;
  for (int i = 0;; ++i) {
    const double w = spectrum_.contour_step * i;
    const double v = height_ * std::sinh(w);
    double modulus = 0, phase = 0;
    for (Eigen::Index g = 0; g < groups; ++g) {
      const double t = rates_[g] * v;
      modulus -= 0.25 * spectrum_.counts[g] * std::log(1 + t * t);
      phase += 0.5 * spectrum_.counts[g] * std::atan(t);
      D(g, 0) = variances_[g] / (1 + t * t);
      D(g, 1) = t * D(g, 0);
    }
    const double log_size = modulus + std::log(std::cosh(w));
    highest = std::max(highest, log_size);
    if (log_size < highest - kDepth) break;
    mixed.noalias() = spectrum_.product * D;
    auto of = [&D](const Vector& form) {
      return std::complex<double>(form.dot(D.col(0)), form.dot(D.col(1)));
    };
    const std::complex<double> W = of(spectrum_.W), G = of(spectrum_.G);
    const std::complex<double> covariance(D.col(0).dot(mixed.col(0)) - D.col(1).dot(mixed.col(1)),
                                          2 * D.col(0).dot(mixed.col(1)));
    const std::complex<double> factor = std::polar((i == 0 ? 0.5 : 1.0) * scale * std::exp(log_size), phase);
    // E|g|^-2 = 1/(e - 2) and E|g|² = e.
    const FormProducts values = spectrum_.products((e - 2) * factor.real(), (factor * W).real(),
                                                   (factor * G).real(), (factor * of(spectrum_.WG)).real(),
                                                   (factor * (W * G + 2.0 * covariance)).real() / e);
    for (std::size_t k = 0; k < kFormProducts; ++k) {
      node.fine[k] += values[k];
      if (i % 2 == 0) node.coarse[k] += 2 * values[k];
    }
  }
}

namespace {

using std::numbers::pi;

// A bound on d ln f / ds² for the statistics: E[P_3] grows like e^{3s²}.
constexpr double kSteepest = 4;
// As functions of s, the statistics have fronts about as wide as those of e^{-s²}, where the weights
// condense: nodes are at most this far apart in s.
constexpr double kWidest = 0.3;
// The density is never steeper than 1/√ at an end, so the integrand falls at least like e^{-x/2}.
constexpr double kFarthest = 72;

// The only node if all queries have the same spread: averages over the sphere.
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

// The trapezoidal rule on a quarter of the circle; odd powers of the coordinates cancel between the quarters.
// Functions of s are smooth on the scale 1, so the number of nodes grows like the range of s.
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
  double log_size = 0;  ///< of weight times density, up to a factor of order 1
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
// If f(s²) = e^{cs²}, |c| <= kSteepest, puts the maximum of the integrand at x, its curvature there is α(x).
// With α the largest of these, the model is e^{-αx - e^{-x}}. On short intervals f varies little, and a wider
// strip |Im x| < y can be used: then the model is (cosh x/2)^-4α, and f grows at most by its slope times how
// far the arc at y reaches beyond the interval.
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

// Leaves out the places that are below e^-kDepth of another one for every f of slope kSteepest.
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
      runtime::check_stop(execution);
      places.push_back(place_at(spectrum, interval, i * step, step));
    }
  }
  std::vector<QueryNode> nodes;
  for (const Place& place : that_matter(places)) {
    runtime::check_stop(execution);
    QueryNode& node = nodes.emplace_back();
    node.square = place.square;
    SphereContour(spectrum, place).add_to(node, place.weight);
  }
  return nodes;
}

}  // namespace largo::exact
