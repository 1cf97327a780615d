#include "numerics/sphere_functions.hpp"

#include <cmath>

#include "largo/runtime/check.hpp"

namespace largo::numerics {
namespace {

constexpr double kEpsilon = 0x1p-54;

struct Ratio {
  double value;       // A_n(x)
  double derivative;  // A_n'(x)
};

// Amos's lower bound for I_{n/2}(x)/I_{n/2-1}(x) and its derivative, off by O(1/(x + n)) at most.
Ratio amos_ratio(double n, double x) {
  const double root = std::sqrt(x * x + (n + 1) * (n + 1) / 4);
  const double denominator = (n - 1) / 2 + root;
  return {x / denominator, (denominator - x * x / root) / (denominator * denominator)};
}

// The fraction 1/A_n = n/x + A_{n+2} and its derivative A_n' = (A_n/x)² (n - x² A_{n+2}'), run backwards
// from Amos's bound. One step shrinks the error of the start by A², so the start is where the product of
// these factors makes it negligible.
Ratio ratio_by_fraction(double n, double x) {
  double shrink = 1 / (1 + x + n);
  double order = n;
  while (shrink > kEpsilon || order == n) {
    order += 2;
    const double bound = amos_ratio(order, x).value;
    shrink *= bound * bound;
  }
  Ratio ratio = amos_ratio(order, x);
  while (order > n) {
    order -= 2;
    const double over_x = 1 / (order + x * ratio.value);
    ratio = {x * over_x, over_x * over_x * (order - x * x * ratio.derivative)};
  }
  return ratio;
}

// log Σ_k t_k with t_0 = 1, t_{k+1}/t_k = (x²/4)/((k+1)(n/2+k)): the power series of e^{Λ_n}.
double value_by_series(double n, double x) {
  const double quarter = x * x / 4;
  const double half = n / 2;
  if (std::min(x, x * x / (2 * n)) < 600) {  // Λ_n is below both, so the sum does not overflow
    double term = 1;
    double sum = 0;
    for (double k = 0; term > kEpsilon * sum; ++k) {
      term *= quarter / ((k + 1) * (half + k));
      sum += term;
    }
    return std::log1p(sum);
  }
  // Starts at the largest term, where (k+1)(n/2+k) = x²/4, and goes outwards on both sides.
  const double b = (half + 1) / 2;
  const double peak = std::floor(std::max(0.0, std::sqrt(b * b - half + quarter) - b));
  const double log_peak =
      peak * std::log(quarter) - std::lgamma(peak + 1) - (std::lgamma(half + peak) - std::lgamma(half));
  double sum = 1;
  double term = 1;
  for (double k = peak; term > kEpsilon * sum; ++k) {
    term *= quarter / ((k + 1) * (half + k));
    sum += term;
  }
  term = 1;
  for (double k = peak; k > 0 && term > kEpsilon * sum; --k) {
    term *= k * (half + k - 1) / quarter;
    sum += term;
  }
  return log_peak + std::log(sum);
}

// Far beyond n²: A = Σ c_k x^{-k} solves the Riccati equation A' = 1 - A² - (n-1) A/x up to e^{-2x}, and
// Λ = x - (n-1)/2 log x + constant + Σ_{k>=2} c_k x^{1-k}/(1-k).
SphereTilt far_tilt(double n, double x) {
  constexpr int kTerms = 40;
  double c[kTerms] = {1};
  double derivative = 1;
  double second = 0;
  double tail = 0;
  double power = 1;
  for (int k = 1; k < kTerms; ++k) {
    double convolution = 0;
    for (int i = 1; i < k; ++i) convolution += c[i] * c[k - i];
    c[k] = -(convolution + (n - k) * c[k - 1]) / 2;
    const double previous_power = power;
    power /= x;
    const double term = c[k] * power;
    derivative += term;
    second -= k * term / x;
    if (k >= 2) tail += c[k] * previous_power / (1 - k);
    if (k > 2 && std::abs(k * term) <= kEpsilon * std::abs(second * x)) break;
  }
  const double constant = std::lgamma(n / 2) + (n / 2 - 1) * std::log(2.0) - std::log(2 * M_PI) / 2;
  return {x - (n - 1) / 2 * std::log(x) + constant + tail, derivative, second, derivative / x};
}

SphereTilt rademacher_tilt(double x) {
  const double decay = std::exp(-2 * x);
  const double half_sinh = std::sinh(std::min(x, 1.0) / 2);
  const double value = x < 1 ? std::log1p(2 * half_sinh * half_sinh) : x + std::log1p(decay) - std::log(2.0);
  const double tanh = std::tanh(x);
  return {value, tanh, 4 * decay / ((1 + decay) * (1 + decay)), x > 0 ? tanh / x : 1};
}

}  // namespace

SphereTilt sphere_tilt(double n, double x) {
  if (!(n >= 1) || !std::isfinite(n)) fail("sphere_tilt", "n", n, "at least 1 and finite");
  check_nonnegative("sphere_tilt", "x", x);
  if (n == 1) return rademacher_tilt(x);
  if (x < 1e-150) return {0, x / n, 1 / n, 1 / n};  // x² would underflow
  if (x > 2 * n * n + 50) return far_tilt(n, x);
  const Ratio ratio = ratio_by_fraction(n, x);
  return {value_by_series(n, x), ratio.value, ratio.derivative, ratio.value / x};
}

}  // namespace largo::numerics
