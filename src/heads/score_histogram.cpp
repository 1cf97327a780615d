#include "heads/score_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace largo::heads {

ScoreCounts count_scores(std::span<const double> scores, const QueryStatistics& statistics) {
  ScoreCounts counts = {};
  if (!(statistics.std > 0)) return counts;
  constexpr double kMiddle = kScoreBins / 2, kLast = kScoreBins;
  for (const double score : scores) {
    const double z = (score - statistics.mean) / statistics.std;
    const double interval = std::floor(z / kScoreBinWidth) + kMiddle;  // nothing is rounded
    counts[static_cast<std::size_t>(std::clamp(interval, -1.0, kLast) + 1)] += 1;
  }
  return counts;
}

ScoreHistogram histogram_of(const ScoreCounts& counts) {
  ScoreHistogram histogram;
  const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (total == 0) return histogram;
  histogram.below = counts.front() / total;
  histogram.above = counts.back() / total;
  for (std::size_t i = 0; i < histogram.shares.size(); ++i) histogram.shares[i] = counts[i + 1] / total;
  return histogram;
}

}  // namespace largo::heads
