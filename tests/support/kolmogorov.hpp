// Kolmogorov's distance, for tests of the law of drawn numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace largo::test {

/// sup |F_n - F|, from the values F(x_i) of n numbers x_i in any order.
inline double kolmogorov_distance(std::vector<double> u) {
  std::sort(u.begin(), u.end());
  const auto n = static_cast<double>(u.size());
  double distance = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    const auto rank = static_cast<double>(i);
    distance = std::max({distance, u[i] - rank / n, (rank + 1) / n - u[i]});
  }
  return distance;
}

}  // namespace largo::test
