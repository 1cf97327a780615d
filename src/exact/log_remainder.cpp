#include "exact/log_remainder.hpp"

#include <algorithm>
#include <array>
#include <boost/math/special_functions/expint.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "numerics/wright_omega.hpp"

namespace largo::exact {
namespace {

constexpr double kGamma = std::numbers::egamma;

// Below x = kSeriesBelow, h = Ein(u) - (1 - e^-u)(ln u + γ) with Ein(u) = u - u²/4 + u³/18 - …
constexpr double kSeriesBelow = -1.5;
constexpr int kTerms = 13;
// Beyond, e^u h(u) = ln u + γ + e^u E_1(u) is interpolated in x, on intervals of this width.
constexpr double kWidth = 0.5;
constexpr std::size_t kIntervals = 17;  // e^kEnd > 745
constexpr std::size_t kDegree = 14;
constexpr double kEnd = kSeriesBelow + kWidth * static_cast<double>(kIntervals);

double series(double x) {
  const double u = std::exp(x);
  double sum = 0;
  for (int k = kTerms; k >= 1; --k) sum = u / k * (1.0 / k - sum);
  return sum - (x + kGamma) * -std::expm1(-u);
}

// Chebyshev coefficients of e^u h(u) on each interval.
using Table = std::array<std::array<double, kDegree + 1>, kIntervals>;

Table make_table() {
  Table table;
  constexpr auto n = static_cast<double>(kDegree + 1);
  for (std::size_t i = 0; i < kIntervals; ++i) {
    std::array<double, kDegree + 1> values{};
    for (std::size_t j = 0; j <= kDegree; ++j) {
      const double at = std::cos(std::numbers::pi * (static_cast<double>(j) + 0.5) / n);
      const double x = kSeriesBelow + kWidth * (static_cast<double>(i) + 0.5 + 0.5 * at);
      const long double u = std::exp(static_cast<long double>(x));
      values[j] = static_cast<double>(x + std::numbers::egamma_v<long double> +
                                      std::exp(u) * boost::math::expint(1, u));
      // e^u overflows, and E_1 underflows, where the asymptotic series has full accuracy.
      if (u > 100)
        values[j] = static_cast<double>(x + kGamma + (1 - (1 - (2 - (6 - 24 / u) / u) / u) / u) / u);
    }
    for (std::size_t k = 0; k <= kDegree; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j <= kDegree; ++j) {
        sum += values[j] *
               std::cos(std::numbers::pi * static_cast<double>(k) * (static_cast<double>(j) + 0.5) / n);
      }
      table[i][k] = (k == 0 ? 1 : 2) / n * sum;
    }
  }
  return table;
}

}  // namespace

double log_remainder(double x) {
  if (x < kSeriesBelow) return series(x);
  static const Table kTable = make_table();
  const double u = std::exp(x), from = (x - kSeriesBelow) / kWidth;
  const auto interval = static_cast<std::size_t>(from);
  if (interval >= kIntervals) return 0;
  const double at = 2 * (from - static_cast<double>(interval)) - 1;
  const auto& c = kTable[interval];
  double next = 0, after = 0;  // Clenshaw's recurrence
  for (std::size_t k = kDegree; k >= 1; --k) {
    const double here = 2 * at * next - after + c[k];
    after = next;
    next = here;
  }
  return std::exp(-u) * (at * next - after + c[0]);
}

double mean_log_remainder(double y, double s) {
  if (s == 0) return log_remainder(y);
  // The trapezoidal rule: the integrand is analytic for |Im x| < π/2. It is largest near the maximum of that
  // of u e^-u, at g = s (1 - u), and falls from there at least like the Gaussian.
  constexpr double kStepG = 0.5, kStepX = 0.2, kReach = 9.5;
  const double step = std::min(kStepG, kStepX / s);
  const double peak = s - numerics::wright_omega(y + s * s + 2 * std::log(s)) / s;
  const double last = std::min(peak + kReach, (kEnd - y) / s);
  double sum = 0;
  for (double g = peak; g <= last; g += step) sum += std::exp(-0.5 * g * g) * log_remainder(y + s * g);
  const double largest = std::numeric_limits<double>::epsilon() * sum / 100;
  for (double g = peak - step; g >= peak - kReach; g -= step) {
    const double term = std::exp(-0.5 * g * g) * log_remainder(y + s * g);
    sum += term;
    if (!(term > largest)) break;  // also where all is zero
  }
  return sum * step / std::sqrt(2 * std::numbers::pi);
}

}  // namespace largo::exact
