// A computed number together with a bound on its error.
#pragma once

namespace largo {

struct Estimate {
  double value = 0;
  double error = 0;  ///< estimate of the absolute error of value, from above
};

}  // namespace largo
