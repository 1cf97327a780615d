// Where the integrands of the master formula are large.
#pragma once

#include <algorithm>
#include <cmath>

namespace largo::exact {

/// Of L scores of spread s: where L (1 - φ_0(y)) is about one. The width of the integrands is about one or,
/// where the weights condense on few tokens, that of the law of the largest score.
struct Bulk {
  Bulk(double s, double L) {
    const double log_L = std::log(L);
    const double largest = std::sqrt(2 * log_L);
    middle = s <= largest ? -log_L - 0.5 * s * s : -s * largest;
    spread = s / std::max(1.0, largest);
    width = std::max(1.0, spread);
  }
  double middle, spread, width;
};

}  // namespace largo::exact
