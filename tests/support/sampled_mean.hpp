// The mean of drawn numbers, with its standard error, for tests by simulation.
#pragma once

#include <cmath>

namespace largo::test {

class SampledMean {
 public:
  void add(double x) {
    ++n_;
    sum_ += x;
    squares_ += x * x;
  }
  double value() const { return sum_ / n_; }
  /// The standard error, for many numbers: their variance has the factor 1/n, not 1/(n - 1).
  double error() const { return std::sqrt((squares_ / n_ - value() * value()) / n_); }
  /// The distance from an expectation, in standard errors.
  double z_score(double expected) const { return std::abs(value() - expected) / error(); }

 private:
  double n_ = 0, sum_ = 0, squares_ = 0;
};

}  // namespace largo::test
