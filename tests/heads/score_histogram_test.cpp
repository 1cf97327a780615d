// Intervals of standardised scores, against counts by the definition.
#include "heads/score_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "largo/random/streams.hpp"
#include "support/fixtures.hpp"

namespace largo::test::score_histogram_test {
namespace {

ScoreHistogram histogram(const std::vector<double>& scores, const heads::QueryStatistics& statistics) {
  return heads::histogram_of(heads::count_scores(scores, statistics));
}

double total(const ScoreHistogram& one) {
  return std::accumulate(one.shares.begin(), one.shares.end(), one.below + one.above);
}

TEST(ScoreHistogram, AnIntervalHasItsLowerEnd) {
  const heads::QueryStatistics standard{.mean = 0, .std = 1};
  const double under = std::nextafter(5.0, 0.0);
  const ScoreHistogram one = histogram({-5, -1, -0.75, 0, 0.2, under, 5, -6}, standard);
  EXPECT_EQ(one.below, 0.125);
  EXPECT_EQ(one.shares[0], 0.125);
  EXPECT_EQ(one.shares[16], 0.125);
  EXPECT_EQ(one.shares[17], 0.125);
  EXPECT_EQ(one.shares[20], 0.25);
  EXPECT_EQ(one.shares[kScoreBins - 1], 0.125);
  EXPECT_EQ(one.above, 0.125);
}

TEST(ScoreHistogram, CountsStandardisedScores) {
  std::vector<double> scores(5000), weights(scores.size());
  Stream(3, 1).normals(0, scores);
  for (double& score : scores) score = 40 * score * std::abs(score) - 1000;
  const heads::QueryStatistics statistics = heads::query_statistics(scores, weights);
  const ScoreHistogram one = histogram(scores, statistics);
  EXPECT_GT(one.below, 0);
  EXPECT_GT(one.above, 0);
  EXPECT_NEAR(total(one), 1, 1e-12);
  for (std::size_t b = 0; b < kScoreBins; ++b) {
    const double from = -kScoreRange + kScoreBinWidth * static_cast<double>(b);
    const auto inside = std::count_if(scores.begin(), scores.end(), [&](double score) {
      const double z = (score - statistics.mean) / statistics.std;
      return z >= from && z < from + kScoreBinWidth;
    });
    EXPECT_EQ(one.shares[b], static_cast<double>(inside) / 5000.0) << b;
  }
}

TEST(ScoreHistogram, EqualScoresCountForNothing) {
  std::vector<double> weights(3);
  const std::vector<double> scores(3, 0.1);
  EXPECT_EQ(total(histogram(scores, heads::query_statistics(scores, weights))), 0);
}

TEST(ScoreHistogram, ExtremeScoresHaveAPlace) {
  const double most = std::numeric_limits<double>::max();
  const ScoreHistogram one = histogram({-most, most}, {.mean = 0, .std = std::numeric_limits<double>::min()});
  EXPECT_EQ(one.below, 0.5);
  EXPECT_EQ(one.above, 0.5);
}

}  // namespace
}  // namespace largo::test::score_histogram_test
