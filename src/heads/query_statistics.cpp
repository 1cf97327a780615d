#include "heads/query_statistics.hpp"

#include <algorithm>
#include <cmath>

#include "heads/tile_kernel.hpp"

namespace largo::heads {

QueryStatistics query_statistics(std::span<const double> scores, std::span<double> weights) {
  const auto count = static_cast<std::int64_t>(scores.size());
  const auto n = static_cast<double>(count);
  QueryStatistics result;
  // From the first score, so that equal scores have no spread at all; then from the mean.
  result.mean = scores[0] + power_sums(scores.data(), count, scores[0]).one / n;
  const PowerSums sums = power_sums(scores.data(), count, result.mean);
  const double shift = sums.one / n, two = sums.two / n, three = sums.three / n, four = sums.four / n;
  const double variance = std::max(0.0, two - shift * shift);
  result.mean += shift;
  result.std = std::sqrt(variance);
  if (variance * variance > 0) {
    result.skewness = (three - 3 * shift * two + 2 * shift * shift * shift) / (variance * result.std);
    const double fourth =
        four - 4 * shift * three + 6 * shift * shift * two - 3 * shift * shift * shift * shift;
    result.kurtosis = fourth / (variance * variance) - 3;
  }
  const auto at = std::max_element(scores.begin(), scores.end()) - scores.begin();
  result.largest = scores[static_cast<std::size_t>(at)];
  weigh(scores.data(), count, result.largest, weights.data());
  // The sums without the largest weight, which is one: a small rest beside it is not lost.
  weights[static_cast<std::size_t>(at)] = 0;
  const WeightSums rest = weight_sums(scores.data(), weights.data(), count, result.largest);
  weights[static_cast<std::size_t>(at)] = 1;
  result.partition = 1 + rest.one;
  result.P2 = (1 + rest.squares) / (result.partition * result.partition);
  result.entropy = std::log1p(rest.one) + rest.gaps / result.partition;
  return result;
}

}  // namespace largo::heads
