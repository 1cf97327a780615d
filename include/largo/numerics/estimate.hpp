// A computed number together with an estimate of its error.
#pragma once

namespace largo {

struct Estimate {
  double value = 0;
  double error = 0;  ///< estimate, from above, of the absolute error of value
};

}  // namespace largo
