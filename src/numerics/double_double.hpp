// A running sum held as an unevaluated sum of two doubles: about 106 bits.
#pragma once

#include <cmath>

namespace largo::numerics {

/// The rounding error of sum = a + b: a + b = sum + two_sum_error(a, b, sum), exactly, barring overflow.
inline double two_sum_error(double a, double b, double sum) {
  const double b_rounded = sum - a;
  return (a - (sum - b_rounded)) + (b - b_rounded);
}

/// high + low, not normalised: low collects the rounding errors of high (Ogita, Rump and Oishi's Sum2), which
/// keeps the chain of dependent operations at one addition per term.
struct DoubleDouble {
  double high = 0;
  double low = 0;

  double value() const { return high + low; }

  /// After n terms the error is about n^2 2^-106 of the sum of their absolute values, plus one rounding.
  void add(double term) {
    const double sum = high + term;
    low += two_sum_error(high, term, sum);
    high = sum;
  }

  void add(const DoubleDouble& other) {
    add(other.high);
    low += other.low;
  }

  DoubleDouble times(double factor) const {
    const double product = high * factor;
    return {product, std::fma(high, factor, -product) + low * factor};
  }
};

}  // namespace largo::numerics
