#include "exact/softmax_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace largo::exact {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// For larger y the bound on E[P_2] is one, whatever δ is: at 1/8 its least value is 1.02.
constexpr double kLogLargestY = -2.0794415416798357;  // ln 1/8

constexpr double kLargestDelta = 0.9;

double square(double x) { return x * x; }

// log E g^{2k} = log (2k - 1)!! for a standard normal g
double log_moment(int k) {
  double sum = 0;
  for (int i = 1; i < k; ++i) sum += std::log(2 * i + 1);
  return sum;
}

// A bound on E[max_i g_i^{2k}; event], where log_probability bounds the probability of the event: by Hölder's
// inequality it is at most (L E g^{2kq})^{1/q} P^{1-1/q} for every q >= 1.
double largest_power(int k, double log_L, double log_probability) {
  double least = kInfinity;
  for (int q = 1; q <= 16; q = q < 4 ? q + 1 : 2 * q) {
    const double share = 1.0 / q;
    least = std::min(least, share * (log_L + log_moment(k * q)) + (1 - share) * log_probability);
  }
  return std::exp(least);
}

}  // namespace

WeightBound weight_bound(double log_y) {
  if (!(log_y < kLogLargestY)) return {};
  const double y = std::exp(log_y);
  // The bound is least where δ² = 2y ln((1 - δ)³ δ / 2y²). Any δ gives a bound, so a few steps are enough.
  double delta = std::min(0.5, std::sqrt(-2 * y * log_y));
  for (int i = 0; i < 8; ++i) {
    const double argument = 3 * std::log1p(-delta) + std::log(delta / 2) - 2 * log_y;
    delta = std::min(kLargestDelta, std::sqrt(2 * y * std::max(argument, 0.5)));
  }
  const double bound = y / square(1 - delta) + std::exp(-square(delta) / (2 * y));
  if (!(bound < 1)) return {};
  return {bound, delta};
}

SoftmaxBounds softmax_bounds(double s, double L) {
  const double square_s = s * s, log_L = std::log(L);
  const WeightBound weights = weight_bound(square_s - log_L);
  SoftmaxBounds bounds;
  bounds.P2 = weights.P2;
  bounds.mse = (1 + square_s) * weights.P2;
  // Without a δ: B <= Σ p g² and D <= B, everywhere.
  bounds.variance_mse = 2 + 2 * largest_power(2, log_L, 0);
  bounds.squared_spread = largest_power(1, log_L, 0);
  double root_P2P2 = std::sqrt(weights.P2);  // roots, because squares of tiny numbers vanish
  if (weights.delta > 0) {
    // With u = g - s and w = e^{sg - s²/2}: E w²u² = ρ (1 + s²), E w⁴u⁴ = ρ⁶ E N(3s, 1)⁴, E w⁴ = ρ⁶.
    const double y = std::exp(square_s - log_L);
    const double fourth_weight = std::exp(3 * square_s - 1.5 * log_L);   // (ρ⁶/L³)^{1/2}
    const double one = y * (1 + square_s);                               // E S² for S = (1/L) Σ w u
    const double curvature = y * (square(square_s) + 4 * square_s + 2);  // E ((1/L) Σ w (u² - 1))²
    const double root_S4 =
        std::hypot(fourth_weight * std::sqrt(81 * square(square_s) + 54 * square_s + 3), std::sqrt(3) * one);
    const double root_weights = std::hypot(y, fourth_weight);  // of E ((1/L²) Σ w²)²
    // Heavier tails than that of P_2 need a larger δ.
    for (const double larger : {1.0, 1.2, 1.45, 1.75, 2.1, 2.5}) {
      const double delta = larger * weights.delta;
      if (delta > kLargestDelta) break;
      const double factor = 1 / square(1 - delta);
      const double log_tail = -square(delta) / (2 * y), tail = std::exp(log_tail);
      root_P2P2 = std::min(root_P2P2, factor * root_weights + std::exp(log_tail / 2));
      bounds.variance_mse =
          std::min(bounds.variance_mse, square(std::sqrt(factor * curvature) + factor * root_S4) +
                                            2 * largest_power(2, log_L, log_tail) + 2 * tail);
      const double shift = std::min(factor * one, square(factor) * root_S4 * root_weights);
      bounds.squared_spread =
          std::min(bounds.squared_spread,
                   square(std::sqrt(factor * one) + std::sqrt(shift)) + largest_power(1, log_L, log_tail));
    }
  }
  bounds.variance_P2 = std::sqrt(bounds.variance_mse) * root_P2P2;
  return bounds;
}

}  // namespace largo::exact
