// Against sums in long double.
#include "heads/query_statistics.hpp"

#include <cmath>
#include <vector>

#include "heads/tile_kernel.hpp"
#include "largo/random/streams.hpp"
#include "support/fixtures.hpp"

namespace largo::test::query_statistics_test {
namespace {

constexpr double kRounding = 1e-12;

struct Expected {
  double mean, std, skewness, kurtosis, P2, entropy;
};

Expected expected_of(const std::vector<double>& scores) {
  const auto n = static_cast<long double>(scores.size());
  long double mean = 0, m2 = 0, m3 = 0, m4 = 0, total = 0, squares = 0, gaps = 0, rest = 0;
  long double most = scores[0];
  for (const double score : scores) {
    mean += score / n;
    most = std::max<long double>(most, score);
  }
  bool first = true;
  for (const double score : scores) {
    const long double x = score - mean, w = std::exp(score - most);
    m2 += x * x / n;
    m3 += x * x * x / n;
    m4 += x * x * x * x / n;
    total += w;
    squares += w * w;
    gaps += w * (most - score);
    if (score == static_cast<double>(most) && first) {
      first = false;
    } else {
      rest += w;
    }
  }
  return {static_cast<double>(mean),
          static_cast<double>(std::sqrt(m2)),
          static_cast<double>(m3 / std::pow(m2, 1.5L)),
          static_cast<double>(m4 / (m2 * m2) - 3),
          static_cast<double>(squares / (total * total)),
          static_cast<double>(std::log1p(rest) + gaps / total)};
}

std::vector<double> normal_scores(std::size_t count, double spread, double shift) {
  std::vector<double> scores(count);
  Stream(2, count).normals(0, scores);
  for (double& score : scores) score = shift + spread * score;
  return scores;
}

TEST(QueryStatistics, AgreesWithLongDouble) {
  for (const std::size_t count : {2, 3, 7, 8, 9, 16, 100, 1000, 4099}) {
    for (const double spread : {0.01, 1.0, 30.0, 1000.0}) {
      const std::vector<double> scores = normal_scores(count, spread, 5);
      std::vector<double> weights(count);
      const auto found = heads::query_statistics(scores, weights);
      const Expected expected = expected_of(scores);
      EXPECT_NEAR(found.mean, expected.mean, kRounding * (5 + spread));
      EXPECT_NEAR(found.std, expected.std, kRounding * (5 + expected.std));
      EXPECT_NEAR(found.skewness, expected.skewness, 1e-9);
      EXPECT_NEAR(found.kurtosis, expected.kurtosis, 1e-9);
      EXPECT_NEAR(found.P2, expected.P2, kRounding * expected.P2);
      EXPECT_NEAR(found.entropy, expected.entropy, kRounding * expected.entropy);
      EXPECT_EQ(*std::max_element(weights.begin(), weights.end()), 1);
    }
  }
}

TEST(QueryStatistics, EdgeCases) {
  std::vector<double> weights(300);
  const std::vector<double> equal(300, 0.1);
  const auto flat = heads::query_statistics(equal, weights);
  EXPECT_EQ(flat.std, 0);
  EXPECT_EQ(flat.skewness, 0);
  EXPECT_EQ(flat.kurtosis, 0);
  EXPECT_NEAR(flat.P2, 1 / 300.0, 1e-17);
  EXPECT_NEAR(flat.entropy, std::log(300), 1e-13);
  const std::vector<double> one = {-7};
  const auto alone = heads::query_statistics(one, weights);
  EXPECT_EQ(alone.P2, 1);
  EXPECT_EQ(alone.entropy, 0);
  // An entropy far below one: e^-40 (1 + 40), of two tokens.
  const std::vector<double> far = {0, -40};
  EXPECT_NEAR(heads::query_statistics(far, weights).entropy / (41 * std::exp(-40)), 1, 1e-13);
}

}  // namespace
}  // namespace largo::test::query_statistics_test
