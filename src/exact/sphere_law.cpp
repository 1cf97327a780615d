#include "exact/sphere_law.hpp"

#include <algorithm>
#include <complex>
#include <numbers>
#include <vector>

#include "numerics/factor.hpp"

namespace largo {
namespace {

using std::numbers::pi;

// Eigenvalues below this share of the largest are zero but for rounding; those this close relatively are one.
constexpr double kNegligible = 1e-26;
constexpr double kSame = 1e-13;
// The contour ends where the integrand is e^-kDepth of its maximum.
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
    const SingularValues svd = singular_values(radius * scores);
    squares.head(svd.values.size()) = svd.values.cwiseAbs2();
    squares.reverseInPlace();
    map = radius * scores * svd.right.rowwise().reverse();
  }
  SphereSpectrum spectrum;
  spectrum.radius_square = radius * radius;
  // The coarser rule, of twice this step, has kSphereDigits: all e singularities of power 1/2 may lie on one
  // side, and the forms add to them.
  spectrum.contour_step = pi / needed_frequency(0.5 * static_cast<double>(size + 3));
  spectrum.largest = squares[size - 1] > kNoSpread ? squares[size - 1] : 0;
  std::vector<Eigen::Index> first;
  for (Eigen::Index j = 0; j < size; ++j) {
    if (squares[j] <= kNegligible * spectrum.largest || spectrum.largest == 0) {
      squares[j] = 0;
      map.col(j).setZero();  // as in s²
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

// Of Σ -n/2 ln(1 - 2ud), by bisection between zero and the branch point on the side where it falls. The
// distance of the saddle point from that branch point is at least 1/e of it.
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

}  // namespace largo
