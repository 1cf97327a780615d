// The maximum for verdicts and worst cases.
#pragma once

#include <cmath>

namespace largo::numerics {

/// The larger of two numbers, and NaN if one of them is not a number (std::max may return the other one).
inline double larger(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

}  // namespace largo::numerics
