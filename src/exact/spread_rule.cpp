#include "exact/spread_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "exact/form_contour.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "numerics/simd_math.hpp"

namespace largo::exact {
namespace {

constexpr double kContourStep = 0.08;  // the rule on the contour has an error of 1e-13
constexpr double kNegligible = 1e-14;
constexpr std::size_t kGroup = 16;
constexpr std::size_t kMostNodes = 256;
// Contributions below e^-kDepth of an average are left out.
constexpr double kDepth = 32;
constexpr double kLeastLength = 1e12;
constexpr double kLinearFrom = 40;  // ρ = t from here on
constexpr double kStep = 0.2;
// ds/dt at the condensation line up to which kStep is fine enough, and what each further refinement adds.
constexpr double kSharpest = 2.45;
constexpr double kSharper = 3.65;
// Ratios to the largest λ below this count as zero: they are rounding errors, or have no influence on s².
constexpr double kNoRatio = 1e-18;

using Group = std::array<double, kGroup>;

double sum(const Group& values) {
  std::array<double, 4> parts{};
  for (std::size_t i = 0; i < kGroup; ++i) parts[i % 4] += values[i];
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

struct HyperbolicFunctions {
  std::array<double, kMostNodes> cosh, sinh;
};
const HyperbolicFunctions& at_contour_nodes() {
  static const HyperbolicFunctions functions = [] {
    HyperbolicFunctions nodes;
    for (std::size_t i = 0; i < kMostNodes; ++i) {
      nodes.cosh[i] = std::cosh(kContourStep * static_cast<double>(i));
      nodes.sinh[i] = std::sinh(kContourStep * static_cast<double>(i));
    }
    return nodes;
  }();
  return functions;
}

}  // namespace

SpreadRule::SpreadRule(const Vector& ratios, double length, int refinement)
    : ratios_(ratios / ratios.maxCoeff()) {
  const Eigen::Index d = ratios.size();
  double smallest = 1, rank = 0;
  for (double& ratio : ratios_) {
    if (ratio < kNoRatio) ratio = 0;
    if (ratio > 0) {
      smallest = std::min(smallest, ratio);
      ++rank;
    }
  }
  // In t, √(s²/λ) = ρ = log(1 + e^t): the law begins like ρ^rank below the smallest of the λ_j, and ends like
  // a Gaussian, against which the statistics rise from 1/L² to 1.
  const double first = -kDepth / rank - 1 + 0.5 * std::log(smallest);
  const double last =
      std::sqrt(ratios_.sum()) + std::sqrt(2 * (kDepth + 2 * std::log(std::max(length, kLeastLength))));
  const double step = kStep / refinement;
  const auto count = static_cast<Eigen::Index>((last - first) / step) + 1;
  squares_.resize(count);
  weights_ = Matrix::Zero(1 + d + d * (d + 1) / 2, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const double t = first + step * static_cast<double>(i);
    const double rho = t < kLinearFrom ? std::log1p(std::exp(t)) : t;
    squares_[i] = ratios.maxCoeff() * rho * rho;
    // dq = 2ρ dρ, dρ = dt/(1 + e^-t), in units of the largest λ
    add_densities(rho, step * 2 * rho / (1 + std::exp(-t)), weights_.col(i));
  }
}

// Around the condensation line of the length the statistics change over distances in s of order one, whatever
// the length. There s = spread ρ moves by ds/dt = spread (1 - e^-ρ) per unit of t: by the spread while that
// is small, and by the line itself once it is large. The constants are from rules four times finer, for L
// from 10 to 1e300 and spreads from 0.3 to 300.
int SpreadRule::refinement(double spread, double length) {
  const double change = -spread * std::expm1(-condensation_line(length) / spread);
  return std::max(1, 1 + static_cast<int>(std::ceil((change - kSharpest) / kSharper)));
}

int SpreadRule::refinement(double spread, double shortest, double length, double sink) {
  const double turn = std::sqrt(2 * std::max(0.0, sink - std::log(shortest)));
  constexpr double kSafety = 1.5;
  const double change = -kSafety * spread * std::expm1(-turn / spread) * std::max(1.0, turn);
  return std::max(refinement(spread, length),
                  1 + static_cast<int>(std::ceil(std::max(0.0, change - kSharpest) / kSharper)));
}

Matrix SpreadRule::coarse_averages(const Matrix& values) const {
  Matrix averages = Matrix::Zero(weights_.rows(), values.cols());
  for (Eigen::Index i = 0; i < size(); i += 2) averages += 2 * weights_.col(i) * values.row(i);
  return averages;
}

// The saddle point of decay ζ + Σ log(D)/2 for 0 < ζ, where this is convex, by Newton's method in ln ζ, from
// below, until a step is below 1e-3.
double SpreadRule::saddle_point(double decay) const {
  double zeta = 0.5 / decay;  // the sum is at least the term of the largest λ
  for (int i = 0; i < 60; ++i) {
    double sum = 0, slope = 0;
    for (const double ratio : ratios_) {
      const double step = ratio / (1 - ratio + ratio * zeta);
      sum += 0.5 * step;
      slope += 0.5 * step * step;
    }
    // decay = sum(ζ), and ln sum is concave in ln ζ with slope between -1 and 0.
    const double change = std::log(sum / decay) * sum / (slope * zeta);
    zeta *= std::exp(std::min(change, 2.0));
    if (std::abs(change) < 1e-3) break;
  }
  return zeta;
}

// Takes a group of nodes of the contour at a time, with real and imaginary parts apart, so that the loops
// over them are vectorised.
void SpreadRule::add_densities(double rho, double weight, Eigen::Ref<Vector> column) const {
  const Eigen::Index d = ratios_.size();
  const double decay = rho * rho / 2;
  const double crossing = std::max(saddle_point(decay), kLeastCrossing / decay);
  double top = decay * (crossing - 1), curvature = 0;
  for (const double ratio : ratios_) {
    const double inverse = 1 - ratio + ratio * crossing;
    top -= 0.5 * std::log(inverse);
    curvature += 0.5 * (ratio / inverse) * (ratio / inverse);
  }
  const auto [height, depth] = FormContour(crossing, curvature);
  const double scale = weight * std::exp(top) / 2 * kContourStep / std::numbers::pi;
  const HyperbolicFunctions& nodes = at_contour_nodes();
  Eigen::Matrix<double, static_cast<int>(kGroup), Eigen::Dynamic> D_re(kGroup, d), D_im(kGroup, d);
  Group x, y, re, im, sine, cosine;
  for (std::size_t first = 0; first < kMostNodes; first += kGroup) {
    const double *cosh = &nodes.cosh[first], *sinh = &nodes.sinh[first];
    for (std::size_t i = 0; i < kGroup; ++i) {
      x[i] = depth * (1 - cosh[i]);
      y[i] = height * sinh[i];
      re[i] = decay * x[i];
      im[i] = decay * y[i];
    }
    numerics::exp(re, re);
    numerics::sincos(im, sine, cosine);
    for (std::size_t i = 0; i < kGroup; ++i) {
      im[i] = re[i] * sine[i];
      re[i] = re[i] * cosine[i];
    }
    for (Eigen::Index j = 0; j < d; ++j) {
      const double ratio = ratios_[j], centre = 1 - ratio + ratio * crossing;
      double *a = D_re.col(j).data(), *b = D_im.col(j).data();
      for (std::size_t i = 0; i < kGroup; ++i) {
        const double u = centre + ratio * x[i], v = ratio * y[i];
        const double inverse = 1 / (u * u + v * v);
        a[i] = u * inverse;
        b[i] = -v * inverse;
        // times √(centre D), which never comes near the negative axis
        const double root_re = std::sqrt(0.5 * centre * (std::sqrt(inverse) + a[i]));
        const double root_im = 0.5 * centre * b[i] / root_re;
        const double product = re[i] * root_re - im[i] * root_im;
        im[i] = re[i] * root_im + im[i] * root_re;
        re[i] = product;
      }
    }
    const double last = std::hypot(re[kGroup - 1], im[kGroup - 1]);
    for (std::size_t i = 0; i < kGroup; ++i) {
      const double end = (first + i == 0 ? 0.5 : 1.0) * scale;
      const double slope_re = end * height * cosh[i], slope_im = end * depth * sinh[i];
      const double product = re[i] * slope_re - im[i] * slope_im;
      im[i] = re[i] * slope_im + im[i] * slope_re;
      re[i] = product;
    }
    column[0] += sum(re);
    for (Eigen::Index j = 0; j < d; ++j) {
      const double *a = D_re.col(j).data(), *b = D_im.col(j).data();
      for (std::size_t i = 0; i < kGroup; ++i) {
        x[i] = re[i] * a[i] - im[i] * b[i];
        y[i] = re[i] * b[i] + im[i] * a[i];
      }
      column[1 + j] += sum(x);
      for (Eigen::Index k = 0; k <= j; ++k) {
        const double *p = D_re.col(k).data(), *q = D_im.col(k).data();
        Group products;
        for (std::size_t i = 0; i < kGroup; ++i) products[i] = x[i] * p[i] - y[i] * q[i];
        column[moment_row(d, j, k)] += (j == k ? 3 : 1) * sum(products);
      }
    }
    if (last < kNegligible) break;
  }
}

}  // namespace largo::exact
