// The shortest prompt for which a number that falls with L is small enough.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include <boost/math/tools/toms748_solve.hpp>

namespace largo::concentration {

inline constexpr double kLargestL = 1e300;
inline constexpr double kLongestCounted = 1e9;  // beyond, lengths are relatively accurate

/// The smallest whole L >= 1 with value(L) <= limit, for a positive limit; none if it is beyond 1e300.
/// `value` falls with L, from the length on that growing steps bracket. Error: none below 1e9, 1e-10 relative
/// beyond. Cost: about 20 values.
template <typename Value>
std::optional<double> shortest_length(double limit, const Value& value) {
  constexpr double kRelative = 1e-10;
  const auto excess = [&](double log_L) {
    const double found = value(std::min(std::exp(log_L), kLargestL));
    return found > 0 ? std::log(found / limit) : -1;
  };
  if (value(1.0) <= limit) return 1;
  // Growing steps bracket the length, then a bracketing solver finds it.
  const double last = std::log(kLargestL);
  double low = 0, high = std::log(2.0);
  while (excess(high) > 0) {
    if (high == last) return std::nullopt;
    low = high;
    high = std::min(2 * high, last);
  }
  std::uintmax_t iterations = 60;
  const auto close = [](double a, double b) {
    const double gap = b - a;
    return std::exp(b) < kLongestCounted ? gap * std::exp(b) < 0.5 : gap < kRelative;
  };
  const auto [a, b] = boost::math::tools::toms748_solve(excess, low, high, close, iterations);
  double L = std::ceil(std::exp(b));
  if (L < kLongestCounted) {
    while (L > 2 && value(L - 1) <= limit) --L;
    while (value(L) > limit) ++L;
  }
  return L;
}

}  // namespace largo::concentration
