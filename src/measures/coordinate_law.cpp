#include "largo/measures/coordinate_law.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <boost/math/tools/minima.hpp>

#include "largo/runtime/check.hpp"
#include "numerics/sphere_functions.hpp"

namespace largo {
namespace {

ScoreComponent point(double weight, double at) {
  ScoreComponent piece;
  piece.weight = weight;
  piece.centre = at;
  return piece;
}

// Density ∝ e^{rate (x - centre)/scale} on centre ± scale.
ScoreComponent interval(double weight, double centre, double scale, double rate) {
  ScoreComponent piece = point(weight, centre);
  piece.shape = ScoreShape::bounded;
  piece.scale = scale;
  piece.rate = rate;
  return piece;
}

// sup_a 2λ(a)/a² for a centred law whose λ is even and whose smallest length is one. The limit at 0 is the
// variance; where the kurtosis exceeds 3 the supremum is attained inside, and 2λ(a)/a² has a single hump.
double largest_proxy_of_unit_law(const CoordinateLaw& law) {
  const double variance = law.cumulants(0).curvature;
  const auto negative_proxy = [&](double log_a) {
    const double a = std::exp(log_a);
    return -2 * law.cumulants(a).value / (a * a);
  };
  // Below 1e-3 rounding hides the difference from the variance; beyond 1e6 the proxy only falls, like 1/a.
  constexpr double kSmallest = 1e-3, kLargest = 1e6;
  constexpr int kBits = 40;
  std::uintmax_t steps = 500;  // about 60 are enough
  const auto best = boost::math::tools::brent_find_minima(negative_proxy, std::log(kSmallest),
                                                          std::log(kLargest), kBits, steps);
  return std::max(variance, -best.second);
}

// Rademacher (n = 1) and uniform (n = 3) are the first coordinates of uniform laws on spheres of R^n.
class SphereCoordinate final : public CoordinateLaw {
 public:
  SphereCoordinate(double order, double scale) : order_(order), scale_(scale) {}
  Cumulants cumulants(double a) const override {
    const numerics::SphereTilt tilt = numerics::sphere_tilt(order_, std::abs(scale_ * a));
    return {tilt.value, std::copysign(scale_ * tilt.derivative, a), scale_ * scale_ * tilt.second_derivative};
  }
  double quantile(double probability) const override {
    return order_ == 1 ? std::copysign(scale_, probability - 0.5) : scale_ * (2 * probability - 1);
  }
  double sub_gaussian_constant() const override { return scale_ / std::sqrt(order_); }
  std::vector<ScoreComponent> pieces() const override {
    if (order_ == 1) return {point(0.5, -scale_), point(0.5, scale_)};
    return {interval(1, 0, scale_, 0)};
  }

 private:
  double order_;
  double scale_;
};

class ThreePoint final : public CoordinateLaw {
 public:
  ThreePoint(double scale, double mass) : scale_(scale), mass_(mass) {}
  Cumulants cumulants(double a) const override {
    const double x = std::abs(scale_ * a);
    const double decay = std::exp(-x);  // everything below is divided by e^x
    const double cosh = (1 + decay * decay) / 2;
    const double sinh = -std::expm1(-2 * x) / 2;
    const double partition = (1 - mass_) * decay + mass_ * cosh;
    const double half_sinh = std::sinh(std::min(x, 1.0) / 2);
    const double value = x < 1 ? std::log1p(2 * mass_ * half_sinh * half_sinh) : x + std::log(partition);
    const double curvature = mass_ * decay * ((1 - mass_) * cosh + mass_ * decay) / (partition * partition);
    return {value, std::copysign(scale_ * mass_ * sinh / partition, a), scale_ * scale_ * curvature};
  }
  double quantile(double probability) const override {
    if (probability < mass_ / 2) return -scale_;
    return probability < 1 - mass_ / 2 ? 0 : scale_;
  }
  double sub_gaussian_constant() const override {
    return scale_ * std::sqrt(largest_proxy_of_unit_law(ThreePoint(1, mass_)));
  }
  std::vector<ScoreComponent> pieces() const override {
    std::vector<ScoreComponent> points = {point(mass_ / 2, -scale_), point(mass_ / 2, scale_)};
    if (mass_ < 1) points.push_back(point(1 - mass_, 0));
    return points;
  }

 private:
  double scale_;
  double mass_;
};

class CentredBernoulli final : public CoordinateLaw {
 public:
  explicit CentredBernoulli(double probability) : p_(probability) {}
  Cumulants cumulants(double a) const override {
    // Divided by e^{max(a,0)}, so that nothing overflows: one of the terms is left with a factor e^{-|a|}.
    const double success = p_ * std::exp(std::min(a, 0.0));
    const double failure = (1 - p_) * std::exp(std::min(-a, 0.0));
    const double partition = success + failure;
    const double value = std::abs(a) < 1 ? std::log1p(p_ * std::expm1(a)) - p_ * a
                                         : std::max(a, 0.0) + std::log(partition) - p_ * a;
    // Tilted probability minus p, without cancellation for small a.
    const double shift = p_ * (1 - p_) * (a > 0 ? -std::expm1(-a) : std::expm1(a)) / partition;
    return {value, shift, success / partition * (failure / partition)};
  }
  double quantile(double probability) const override { return probability < 1 - p_ ? -p_ : 1 - p_; }
  double sub_gaussian_constant() const override {
    // Kearns and Saul (1998): the smallest variance proxy is (1-2p) / (2 log((1-p)/p)).
    if (std::abs(p_ - 0.5) < 1e-4) return std::sqrt(0.25 - (0.5 - p_) * (0.5 - p_) / 3);
    return std::sqrt((1 - 2 * p_) / (2 * std::log((1 - p_) / p_)));
  }
  std::vector<ScoreComponent> pieces() const override { return {point(1 - p_, -p_), point(p_, 1 - p_)}; }

 private:
  double p_;
};

// The tilted law is a mixture of two halves; each half is a tilted uniform law on [0, bound].
class TruncatedLaplace final : public CoordinateLaw {
 public:
  TruncatedLaplace(double scale, double bound)
      : scale_(scale), bound_(bound), untilted_(half(-1 / scale).log_mass + std::log(2.0)) {}
  Cumulants cumulants(double a) const override {
    const Half right = half(a - 1 / scale_);
    const Half left = half(-a - 1 / scale_);
    const double top = std::max(right.log_mass, left.log_mass);
    const double mass_right = std::exp(right.log_mass - top);
    const double mass_left = std::exp(left.log_mass - top);
    const double p = mass_right / (mass_right + mass_left);
    const double q = mass_left / (mass_right + mass_left);
    const double gap = right.mean + left.mean;
    return {top + std::log(mass_right + mass_left) - untilted_, p * right.mean - q * left.mean,
            p * right.variance + q * left.variance + p * q * gap * gap};
  }
  double quantile(double probability) const override {
    const double signed_mass = 2 * probability - 1;
    const double size = -scale_ * std::log1p(std::abs(signed_mass) * std::expm1(-bound_ / scale_));
    return std::copysign(std::min(size, bound_), signed_mass);
  }
  double sub_gaussian_constant() const override {
    const double unit = std::min(scale_, bound_);
    return unit * std::sqrt(largest_proxy_of_unit_law(TruncatedLaplace(scale_ / unit, bound_ / unit)));
  }
  std::vector<ScoreComponent> pieces() const override {
    const double middle = bound_ / 2;
    return {interval(0.5, -middle, middle, middle / scale_), interval(0.5, middle, middle, -middle / scale_)};
  }

 private:
  struct Half {
    double log_mass;  // log of ∫_0^bound e^{rate t} dt / scale
    double mean;
    double variance;
  };
  Half half(double rate) const {
    const double x = rate * bound_;
    constexpr double kFar = 4;
    if (std::abs(x) > kFar) return far_half(rate);
    const numerics::SphereTilt tilt = numerics::sphere_tilt(3, std::abs(x / 2));
    const double middle = bound_ / 2;
    return {std::log(bound_ / scale_) + x / 2 + tilt.value, middle * (1 + std::copysign(tilt.derivative, x)),
            middle * middle * tilt.second_derivative};
  }
  // Nearly an exponential law whose length is far below the bound: expressed as a deviation from the middle
  // of [0, bound], it would be lost in rounding.
  Half far_half(double rate) const {
    const double length = 1 / std::abs(rate);
    const double edge = std::exp(-bound_ / length);
    const double mass = 1 - edge;
    const double to_end = bound_ * (edge / mass);  // truncation lowers the mean by this
    const double mean = length - to_end;
    const double variance = length * length - to_end * (bound_ / mass);
    const double log_mass = std::log(mass * (length / scale_));
    if (rate < 0) return {log_mass, mean, variance};
    return {log_mass + bound_ / length, bound_ - mean, variance};
  }
  double scale_;
  double bound_;
  double untilted_;
};

}  // namespace

std::vector<ScoreComponent> CoordinateLaw::pieces() const {
  fail("score_law",
       "this coordinate law is not given as a mixture of standard shapes: override CoordinateLaw::pieces");
}

CoordinateLawPtr rademacher(double scale) {
  check_positive("rademacher", "scale", scale);
  return std::make_shared<SphereCoordinate>(1, scale);
}

CoordinateLawPtr uniform(double half_width) {
  check_positive("uniform", "half_width", half_width);
  return std::make_shared<SphereCoordinate>(3, half_width);
}

CoordinateLawPtr three_point(double scale, double mass) {
  check_positive("three_point", "scale", scale);
  if (!(mass > 0 && mass <= 1)) fail("three_point", "mass", mass, "in (0, 1]");
  return std::make_shared<ThreePoint>(scale, mass);
}

CoordinateLawPtr centred_bernoulli(double probability) {
  if (!(probability > 0 && probability < 1)) {
    fail("centred_bernoulli", "probability", probability, "strictly between 0 and 1");
  }
  return std::make_shared<CentredBernoulli>(probability);
}

CoordinateLawPtr truncated_laplace(double scale, double bound) {
  check_positive("truncated_laplace", "scale", scale);
  check_positive("truncated_laplace", "bound", bound);
  if (!std::isfinite(1 / scale)) fail("truncated_laplace", "scale", scale, "at least 1e-307");
  if (!std::isfinite(bound / scale)) {
    fail("truncated_laplace", "bound / scale", std::numeric_limits<double>::infinity(), "at most 1e308");
  }
  return std::make_shared<TruncatedLaplace>(scale, bound);
}

}  // namespace largo
