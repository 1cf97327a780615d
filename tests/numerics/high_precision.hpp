// References far wider than double for the tests of this folder, and errors in ulp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/mpfr.hpp>

namespace largo::test {

using Wide = boost::multiprecision::mpfr_float_50;

/// |value - exact| in units in the last place of `exact` as a T (of the smallest normal number, if below it).
template <class T>
double ulp_error(T value, const Wide& exact) {
  if (exact == 0) return value == 0 ? 0 : std::numeric_limits<double>::infinity();
  int exponent = 0;
  (void)frexp(exact, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  const Wide ulp = ldexp(Wide(1), exponent - std::numeric_limits<T>::digits);
  return static_cast<double>(abs(Wide(value) - exact) / ulp);
}

/// The normal quantile, by two Halley steps from a value that is already right to double precision.
inline Wide normal_quantile(double p, double start) {
  const Wide root_two = sqrt(Wide(2));
  const Wide sign = p < 0.5 ? -1 : 1;
  const Wide tail = p < 0.5 ? Wide(p) : 1 - Wide(p);
  Wide x = abs(Wide(start));
  for (int step = 0; step < 2; ++step) {
    const Wide density = exp(-x * x / 2) / sqrt(2 * boost::math::constants::pi<Wide>());
    const Wide ratio = (erfc(x / root_two) / 2 - tail) / density;
    x += ratio / (1 - ratio * x / 2);
  }
  return sign * x;
}

}  // namespace largo::test
