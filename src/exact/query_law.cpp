#include "exact/query_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "exact/form_contour.hpp"
#include "numerics/factor.hpp"
#include "runtime/distribute.hpp"

namespace largo::exact {
namespace {

using Complex = std::complex<double>;
using ComplexVector = Eigen::VectorXcd;

// Eigenvalues below this share of the largest are zero except for rounding.
constexpr double kNegligible = 1e-26;
// The rule on the contour, whose error is below rounding.
constexpr double kContourStep = 0.05;
constexpr double kContourDepth = 40;
constexpr int kMostNodes = 400;
constexpr double kUnderflow = -740;

// A quadratic form in y = ν + ε, ε ~ N(0, D): its mean, and what its cumulants need.
struct TiltedForm {
  TiltedForm(const QuadraticForm& form, const ComplexVector& mean, const ComplexVector& D)
      : A(form.A),
        linear(form.b + form.A * mean),
        average(form.c + 2.0 * mean.cwiseProduct(form.b.cast<Complex>()).sum() +
                mean.cwiseProduct(form.A * mean).sum() +
                form.A.diagonal().cast<Complex>().cwiseProduct(D).sum()) {}
  const Matrix& A;
  ComplexVector linear;
  Complex average;
};

Complex covariance(const TiltedForm& x, const TiltedForm& y, const ComplexVector& D) {
  const Complex squares = D.cwiseProduct(x.A.cwiseProduct(y.A) * D).sum();
  return 2.0 * squares + 4.0 * x.linear.cwiseProduct(D).cwiseProduct(y.linear).sum();
}

Complex third_cumulant(const TiltedForm& x, const TiltedForm& y, const TiltedForm& z,
                       const ComplexVector& D) {
  const Eigen::MatrixXcd xy = (x.A * D.asDiagonal()) * y.A;
  const Complex traces = D.cwiseProduct(xy.cwiseProduct(z.A) * D).sum();
  const ComplexVector dx = D.cwiseProduct(x.linear), dy = D.cwiseProduct(y.linear),
                      dz = D.cwiseProduct(z.linear);
  auto between = [](const ComplexVector& a, const Matrix& M, const ComplexVector& b) {
    return a.cwiseProduct(M * b).sum();
  };
  return 8.0 * (traces + between(dx, y.A, dz) + between(dx, z.A, dy) + between(dy, x.A, dz));
}

}  // namespace

QueryLaw::Rotated QueryLaw::rotate(const Vector& mean, const Matrix& root, const Matrix& scores) {
  if (root.cols() == 0) {  // one query only
    return {Matrix(0, 0), Matrix(scores.rows(), 0), Vector(0), Vector(0), mean, scores * mean};
  }
  Rotated rotated;
  const Matrix N = scores * root;
  const numerics::SingularValues svd = numerics::singular_values(N);
  rotated.basis = svd.right;
  rotated.map = N * rotated.basis;
  rotated.squares = Vector::Zero(root.cols());
  rotated.squares.head(svd.values.size()) = svd.values.cwiseAbs2();
  rotated.mean = Vector::Zero(root.cols());
  rotated.scores = scores * mean;
  for (Eigen::Index j = 0; j < svd.values.size(); ++j) {
    if (rotated.squares[j] <= std::max(kNoSpread, kNegligible * rotated.squares[0])) {
      rotated.squares[j] = 0;
      rotated.map.col(j).setZero();  // consistent with s²
      continue;
    }
    const double along = svd.left.col(j).dot(rotated.scores);
    rotated.mean[j] = along / svd.values[j];
    rotated.scores -= along * svd.left.col(j);
  }
  rotated.origin = mean - root * (rotated.basis * rotated.mean);
  return rotated;
}

QueryLaw::QueryLaw(const Vector& mean, const Matrix& root, const Matrix& scores, const Matrix& W,
                   const Matrix& G, const Matrix& WG)
    : QueryLaw(rotate(mean, root, scores), root, W, G, WG) {}

QueryLaw::QueryLaw(const Rotated& rotated, const Matrix& root, const Matrix& W, const Matrix& G,
                   const Matrix& WG)
    : mu_(rotated.mean),
      largest_(rotated.squares.size() > 0 ? rotated.squares[0] : 0),
      smallest_square_(rotated.scores.squaredNorm()),
      W_(W, rotated.scores, rotated.map),
      G_(G, rotated.scores, rotated.map),
      WG_(WG, rotated.scores, rotated.map),
      Z_(Matrix::Identity(root.rows(), root.rows()), rotated.origin, root * rotated.basis) {
  ratio_ = largest_ > 0 ? Vector(rotated.squares / largest_) : Vector::Zero(rotated.squares.size());
  for (const double ratio : ratio_) {
    if (ratio > 0) smallest_ratio_ = std::min(smallest_ratio_, ratio);
  }
  rank_ = static_cast<int>((ratio_.array() > 0).count());
  // √(Q/λ) is a Lipschitz function of y, and differs from the norm of √ratio μ by at most that of √ratio x.
  const double distance = std::sqrt(ratio_.dot(mu_.cwiseAbs2()));
  const double spread = std::sqrt(ratio_.sum());
  highest_ = distance + spread;
  lowest_ = distance - spread;
}

// The saddle point of q ζ + Σ log(D)/2 + μ² D/2 (q in units of 2λ) for 0 < ζ, where this is convex, by
// bisection in ln ζ, from above, to 1e-3.
double QueryLaw::saddle_point(double q) const {
  double low = 0.5 / q;  // the sum is at least the term of the largest λ
  double high = low;
  auto slope = [&](double zeta) {
    double sum = 0;
    for (Eigen::Index j = 0; j < ratio_.size(); ++j) {
      const double D = 1 / (1 - ratio_[j] + ratio_[j] * zeta);
      sum += 0.5 * ratio_[j] * D * (1 + mu_[j] * mu_[j] * D);
    }
    return q - sum;
  };
  while (slope(high) < 0) high *= 2;
  while (high > low * (1 + 1e-3)) {
    const double middle = std::sqrt(low * high);
    (slope(middle) < 0 ? low : high) = middle;
  }
  return high;
}

QueryLaw::Products QueryLaw::tilted_products(const ComplexVector& D) const {
  const ComplexVector mean = D.cwiseProduct(mu_);
  const TiltedForm W(W_, mean, D), G(G_, mean, D), WG(WG_, mean, D), Z(Z_, mean, D);
  const Complex ZW = covariance(Z, W, D);
  const Complex ZG = covariance(Z, G, D);
  Products products;
  products[kOne] = 1;
  products[kW] = W.average;
  products[kG] = G.average;
  products[kZ] = Z.average;
  products[kZW] = Z.average * W.average + ZW;
  products[kZG] = Z.average * G.average + ZG;
  products[kZH] = Z.average * WG.average + covariance(Z, WG, D);
  products[kZWG] = Z.average * W.average * G.average + Z.average * covariance(W, G, D) + W.average * ZG +
                   G.average * ZW + third_cumulant(Z, W, G, D);
  return products;
}

FormProducts QueryLaw::averages() const {
  const Products products = tilted_products(ComplexVector::Ones(mu_.size()));
  FormProducts averages{};
  for (std::size_t i = 0; i < kFormProducts; ++i) averages[i] = products[i].real();
  return averages;
}

QueryLaw::Densities QueryLaw::densities(double q, const Execution& execution) const {
  const double decay = q / (2 * largest_);
  const double crossing = std::max(saddle_point(decay), kLeastCrossing / decay);
  ComplexVector D(ratio_.size());
  // Logarithm of the integrand without the products, as a function of ζ = 1 - 2λu. Sets D on the way.
  auto exponent = [&](Complex zeta) {
    Complex sum = decay * (zeta - 1.0);
    for (Eigen::Index j = 0; j < ratio_.size(); ++j) {
      const Complex inverse = 1 - ratio_[j] + ratio_[j] * zeta;
      D[j] = 1.0 / inverse;
      sum += -0.5 * std::log(inverse) + 0.5 * mu_[j] * mu_[j] * (D[j] - 1.0);
    }
    return sum;
  };
  const double top = exponent(crossing).real();
  if (top < kUnderflow) return {};
  double curvature = 0;
  for (Eigen::Index j = 0; j < ratio_.size(); ++j) {
    const double step = ratio_[j] * D[j].real();
    curvature += step * step * (0.5 + mu_[j] * mu_[j] * D[j].real());
  }
  const auto [height, depth] = FormContour(crossing, curvature);

  Densities densities;
  const double scale = std::exp(top) / (2 * largest_) * kContourStep / std::numbers::pi;
  for (int i = 0; i < kMostNodes; ++i) {
    runtime::check_stop(execution);
    const double w = kContourStep * i;
    const Complex relative =
        exponent(crossing + Complex(depth * (1 - std::cosh(w)), height * std::sinh(w))) - top;
    if (relative.real() < -kContourDepth) break;
    const Complex slope(height * std::cosh(w), depth * std::sinh(w));
    const Complex weight = (i == 0 ? 0.5 : 1.0) * scale * slope * std::exp(relative);
    const Products products = tilted_products(D);
    for (std::size_t k = 0; k < kFormProducts; ++k) {
      const double value = (weight * products[k]).real();
      densities.fine[k] += value;
      if (i % 2 == 0) densities.coarse[k] += 2 * value;
    }
  }
  return densities;
}

}  // namespace largo::exact
