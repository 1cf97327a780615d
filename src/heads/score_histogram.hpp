// How the scores of one query lie around their mean, in standard deviations.
#pragma once

#include <array>
#include <span>

#include "heads/query_statistics.hpp"
#include "largo/heads/head_audit.hpp"

namespace largo::heads {

/// Numbers of scores: below the first interval of ScoreHistogram, in each of them, and above the last.
using ScoreCounts = std::array<double, kScoreBins + 2>;

/// Counts (score - mean)/std of every score; none if the spread is zero. Domain: finite scores. Whole
/// numbers, so that their sums have the same bits in any order. Cost: some 3 ns for each key.
ScoreCounts count_scores(std::span<const double> scores, const QueryStatistics& statistics);

/// Counts as shares of all that were counted; zeros if there are none.
ScoreHistogram histogram_of(const ScoreCounts& counts);

}  // namespace largo::heads
