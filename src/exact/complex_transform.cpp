#include "exact/complex_transform.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "numerics/wright_omega.hpp"

namespace largo::exact {
namespace {

using Complex = std::complex<double>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kRounding = 4 * kEpsilon;  // of a term
constexpr double kStrip = 1;                // half the width of the strip in g, where s lets it be so wide
constexpr double kDigits = 38;              // the error of the rule is e^-kDigits
constexpr double kNarrow = 0.55;            // the step for a normal integrand, in standard deviations
// φ is computed as 1 - (1 - φ) where the saddle is so near the line: further away, φ is small.
constexpr double kWithin = 4;
constexpr double kNegligible = 1e-18;  // of the largest term
constexpr double kLargestLog = 700;    // e^x is finite

Complex log1p(Complex z) {
  const double x = z.real(), y = z.imag();
  return {0.5 * std::log1p(2 * x + x * x + y * y), std::atan2(y, 1 + x)};
}

struct Term {
  Complex value;
  double rounding;  // in units of kRounding
};

struct Sum {
  Complex value = 0;
  double rounding = 0;
};

// The sum of term(g) over g = k step, from the node next to the middle outwards to where terms are
// negligible.
template <typename Function>
Sum outwards(double middle, double step, const Function& term) {
  Sum sum;
  double largest = 0;
  const double first = std::round(middle / step);
  for (const double side : {1.0, -1.0}) {
    int small = 0;
    for (double k = side > 0 ? first : first - 1; small < 3; k += side) {
      const auto [value, rounding] = term(k * step);
      const double size = std::abs(value.real()) + std::abs(value.imag());
      sum.value += value;
      sum.rounding += rounding;
      largest = std::max(largest, size);
      small = size <= kNegligible * largest ? small + 1 : 0;
    }
  }
  return sum;
}

// The w with w + ln w = z, |Im z| < π, by Newton's method: to some digits, as nothing depends on more.
Complex wright_omega(Complex z) {
  Complex w = z - std::log(z);
  if (std::abs(z - 1.0) < 2.5) {
    w = 1.0 + 0.5 * (z - 1.0) + 0.0625 * (z - 1.0) * (z - 1.0);
  } else if (z.real() < 0) {
    w = std::exp(z);
  }
  for (int i = 0; i < 4 && std::abs(w) > 1e-300; ++i) w *= (1.0 + z - std::log(w)) / (1.0 + w);
  return w;
}

// The line Im g = -η, on which t e^{s g} has the argument angle - s η.
struct Line {
  // With η at least `wanted`, and a strip above the line as wide as wanted, where the argument is below π/2.
  Line(double log_size_, double angle, double s_, double wanted) : log_size(log_size_), s(s_) {
    constexpr double right = 0.5 * std::numbers::pi;
    eta = std::min(angle / s, std::max(wanted, (angle - right) / s + kStrip));
    const double turned = angle - s * eta;
    along = std::polar(1.0, turned);
    room = (right - turned) / s;
    step = step_for(kStrip, kDigits);
  }
  Complex exponent(double g) const { return along * std::exp(std::min(log_size + s * g, kLargestLog)); }
  double log_scale() const { return 0.5 * eta * eta + std::log(step / std::sqrt(2 * std::numbers::pi)); }

  // The step whose error is e^-digits of a bound that holds in a strip of this half-width, if there is room.
  double step_for(double strip, double digits) const {
    return 2 * std::numbers::pi * std::min(strip, room) / digits;
  }

  double log_size, s, eta = 0, step = 0;
  double room = 0;  // up to where the argument is π/2
  Complex along;
};

}  // namespace

LogTransform log_transform(double log_size, double signed_angle, double s) {
  const double angle = std::abs(signed_angle);
  const auto restored = [&](Complex log_phi) { return signed_angle < 0 ? std::conj(log_phi) : log_phi; };
  // The exponent -g²/2 - t e^{s g} has its saddle at g = -ω/s.
  const Complex omega = wright_omega({log_size + 2 * std::log(s), angle});
  const double to_saddle = omega.imag() / s;

  if (to_saddle < kWithin) {
    // 1 - φ: terms are about f(g) min(1, |t| e^{s g}), so largest at s, at 0, or where the minimum changes.
    const Line line(log_size, angle, s, 0);
    const double middle = std::clamp(-log_size / s, 0.0, s), log_scale = line.log_scale();
    const Sum missing = outwards(middle, line.step, [&](double g) -> Term {
      const Complex u = line.exponent(g);
      const double weight = std::exp(log_scale - 0.5 * g * g), fall = std::exp(-u.real());
      const double half = std::sin(0.5 * u.imag());
      const Complex value(-std::expm1(-u.real()) + 2 * fall * half * half, fall * std::sin(u.imag()));
      return {weight * std::polar(1.0, line.eta * g) * value,
              weight * (std::abs(value) + std::abs(u) * fall)};
    });
    const double left = std::abs(1.0 - missing.value);
    if (left > 0.5) return {restored(log1p(-missing.value)), kRounding * missing.rounding / left};
  }

  // φ itself, on the line through the saddle. Terms are about normal, with variance 1/(1 + ω), around their
  // largest, and relative to it.
  Line line(log_size, angle, s, to_saddle);
  const double fall = log_size + std::log(std::max(line.along.real(), 1e-300));
  const double steepness = numerics::wright_omega(fall + 2 * std::log(s));
  const double mode = -steepness / s, top = -0.5 * mode * mode - steepness / (s * s);
  // In a strip of half-width d they are larger, by e^{d²/2} and as the real part of t e^{s g} falls.
  const double strip = std::min(line.room, std::sqrt(2 * kDigits / (1 + steepness)));
  const double turned = std::arg(line.along), falls = 1 - std::cos(turned + s * strip) / std::cos(turned);
  const double digits = kDigits + 0.5 * strip * strip + steepness / (s * s) * falls;
  line.step = std::min(line.step_for(strip, digits), kNarrow / std::sqrt(1 + steepness));
  const double log_scale = line.log_scale();
  const Sum all = outwards(mode, line.step, [&](double g) -> Term {
    const Complex u = line.exponent(g);
    const double weight = std::exp(log_scale - 0.5 * g * g - u.real() - top);
    return {weight * std::polar(1.0, line.eta * g - u.imag()), weight * (1 + std::abs(u))};
  });
  const double size = std::abs(all.value);
  if (!(size > 0)) return {{-std::numeric_limits<double>::infinity(), 0}, 0};
  return {restored(std::log(all.value) + top), kRounding * (all.rounding / size + std::abs(top))};
}

}  // namespace largo::exact
