// The mean of some samples, with its standard error.
#pragma once

#include <cmath>
#include <vector>

#include "largo/report/figure.hpp"

namespace largo::claims {

struct PlainMean {
  double value = 0, error = 0;

  double z_score(double exact) const { return std::abs(value - exact) / error; }
};

/// The mean of number(sample) over two samples at least.
template <typename Sample, typename Number>
PlainMean mean_of(const std::vector<Sample>& samples, const Number& number) {
  const auto n = static_cast<double>(samples.size());
  double sum = 0, squares = 0;
  for (const Sample& sample : samples) sum += number(sample);
  for (const Sample& sample : samples) squares += std::pow(number(sample) - sum / n, 2);
  return {sum / n, std::sqrt(squares / (n * (n - 1)))};
}

/// Adds the mean to a curve of points, in multiples of `unit`, with bars of two standard errors.
inline void add_point(Curve& curve, double x, const PlainMean& mean, double unit = 1) {
  curve.add(x, mean.value / unit);
  curve.low.push_back((mean.value - 2 * mean.error) / unit);
  curve.high.push_back((mean.value + 2 * mean.error) / unit);
}

}  // namespace largo::claims
