// A composite rule of Gauss and Legendre, written for tests: it shares nothing with the library's
// quadratures.
#pragma once

#include <functional>

#include <boost/math/quadrature/gauss.hpp>

namespace largo::test {

/// ∫ f from `low` to `high`, by kNodes nodes on each of `count` panels of equal width.
template <unsigned kNodes>
double gauss_panels(double low, double high, int count, const std::function<double(double)>& f) {
  double sum = 0;
  for (int k = 0; k < count; ++k) {
    const double width = (high - low) / count;
    sum +=
        boost::math::quadrature::gauss<double, kNodes>::integrate(f, low + k * width, low + (k + 1) * width);
  }
  return sum;
}

}  // namespace largo::test
