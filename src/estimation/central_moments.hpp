// Count, mean and central moments of a stream of numbers, merged in any grouping (P. Pébay, Formulas for
// robust, one-pass parallel computation of covariances and arbitrary-order statistical moments, 2008).
#pragma once

#include <cmath>

namespace largo::estimation {

struct CentralMoments {
  double n = 0, mean = 0;
  double m2 = 0, m3 = 0, m4 = 0;  ///< Σ (x - mean)^k

  void add(double x) { merge({1, x, 0, 0, 0}); }

  void merge(const CentralMoments& other) {
    if (other.n == 0) return;
    if (n == 0) {
      *this = other;
      return;
    }
    const double total = n + other.n;
    const double d = other.mean - mean;
    const double a = n / total, b = other.n / total;  // shares
    const double d2 = d * d;
    m4 += other.m4 + d2 * d2 * n * b * (a * a - a * b + b * b) + 6 * d2 * (a * a * other.m2 + b * b * m2) +
          4 * d * (a * other.m3 - b * m3);
    m3 += other.m3 + d2 * d * n * b * (a - b) + 3 * d * (a * other.m2 - b * m2);
    m2 += other.m2 + d2 * n * b;
    mean += d * b;
    n = total;
  }

  double variance() const { return n > 1 ? m2 / (n - 1) : 0; }
  double skewness() const { return m2 > 0 ? std::sqrt(n) * m3 / (m2 * std::sqrt(m2)) : 0; }
  double kurtosis() const { return m2 > 0 ? n * m4 / (m2 * m2) : 1; }
};

}  // namespace largo::estimation
