#include "largo/exact/heaviest_tokens.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "largo/exact/token_classes.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"

namespace largo::heaviest_tokens_test {
namespace {

using Classes = std::vector<TokenClass>;

// Where all scores are given there is nothing to average.
TEST(HeaviestTokens, GivenScores) {
  const Classes classes = {{1, 1.5, 0}, {1, -2, 0}, {1, 0.25, 0}, {2, 1, 0}};
  std::vector<double> weights = {std::exp(1.5), std::exp(1.0), std::exp(1.0), std::exp(0.25), std::exp(-2.0)};
  double total = 0, sum = 0;
  for (const double w : weights) total += w;
  for (int k = 1; k <= 5; ++k) {
    sum += weights[static_cast<std::size_t>(k - 1)] / total;
    const Estimate found = heaviest_mass(classes, k);
    EXPECT_NEAR(found.value, sum, 1e-12) << k;
    EXPECT_LE(std::abs(found.value - sum), found.error + 1e-15) << k;
  }
  EXPECT_NEAR(heaviest_mass(classes, 20).value, 1, 1e-12);
}

TEST(HeaviestTokens, ClosedForms) {
  // All scores equal, nearly.
  EXPECT_NEAR(heaviest_mass(Classes{{1e6, 3, 0}}, 7).value, 7e-6, 1e-17);
  EXPECT_NEAR(heaviest_mass(Classes{{1e6, 3, 1e-7}}, 7).value, 7e-6, 1e-11);
  // All tokens of a prompt have all the weight.
  for (const Classes& classes :
       {Classes{{5, 0, 2}}, Classes{{3, 0, 1}, {2, 4, 0.5}}, Classes{{1, 5, 0}, {4, 0, 1}}}) {
    const Estimate all = heaviest_mass(classes, 5);
    EXPECT_NEAR(all.value, 1, 1e-11);
    EXPECT_LE(std::abs(all.value - 1), all.error + 1e-15);
  }
  // Two tokens of three: all but the lightest, which is the heaviest with the signs of three... of two
  // scores.
  const Classes two = {{1, 0.7, 1.5}, {1, 0, 0}};
  EXPECT_EQ(heaviest_mass(two, 1).value, mean_largest_weight(two).value);
}

// Within 4 standard errors: another seed would fail one of the 30 comparisons with a chance of 2e-3.
TEST(HeaviestTokens, AgreeWithSimulation) {
  const std::vector<Classes> prompts = {
      {{200, 0, 1.5}},        {{50, 0, 3}, {1, 6, 0}},   {{30, 1, 0.5}, {300, 0, 1}, {1, 5, 0}},
      {{8, 0, 1}, {3, 2, 0}}, {{2, 0, 5}, {20, 1, 0.1}}, {{100, -3, 2}, {4, 1, 0.3}, {2, 0.5, 0}}};
  constexpr int kDraws = 20000;
  for (std::size_t which = 0; which < prompts.size(); ++which) {
    const Classes& classes = prompts[which];
    double tokens = 0;
    for (const TokenClass& one : classes) tokens += one.count;
    const std::vector<int> counts = {1, 2, 3, 5, 10};
    std::vector<double> sums(counts.size(), 0), squares(counts.size(), 0),
        x(static_cast<std::size_t>(tokens));
    for (int draw = 0; draw < kDraws; ++draw) {
      Stream(which + 1, static_cast<std::uint64_t>(draw)).normals(0, x);
      std::size_t i = 0;
      double total = 0;
      for (const TokenClass& one : classes) {
        for (double k = 0; k < one.count; ++k, ++i) total += x[i] = std::exp(one.shift + one.spread * x[i]);
      }
      std::sort(x.begin(), x.end(), std::greater<>());
      for (std::size_t c = 0; c < counts.size(); ++c) {
        double heavy = 0;
        for (std::size_t k = 0; k < std::min<std::size_t>(static_cast<std::size_t>(counts[c]), x.size()); ++k)
          heavy += x[k] / total;
        sums[c] += heavy;
        squares[c] += heavy * heavy;
      }
    }
    for (std::size_t c = 0; c < counts.size(); ++c) {
      const double mean = sums[c] / kDraws;
      const double error = std::sqrt(std::max(0.0, squares[c] / kDraws - mean * mean) / kDraws);
      const Estimate found = heaviest_mass(classes, counts[c]);
      EXPECT_NEAR(found.value, mean, 4 * error + 1e-12) << which << ' ' << counts[c];
      EXPECT_LE(found.error, 1e-9 * found.value) << which << ' ' << counts[c];
    }
  }
}

// More tokens have more mass, and each further one has less than those before.
TEST(HeaviestTokens, GrowWithTheirNumber) {
  for (const double L : {1e3, 1e8, 1e30}) {
    const Classes crowd = {{L, 0, 2}, {1, 3, 0}};
    double before = 0, step = 1;
    for (int k = 1; k <= 40; k += 3) {
      const double mass = heaviest_mass(crowd, k).value;
      EXPECT_GT(mass, before) << L << ' ' << k;
      EXPECT_LE(mass - before, step * (k == 4 ? 3.0 : 1.0) * (1 + 1e-12)) << L << ' ' << k;
      step = mass - before;
      before = mass;
    }
    EXPECT_LE(before, 1);
  }
}

TEST(HeaviestTokens, BadInput) {
  EXPECT_THROW(heaviest_mass(Classes{{10, 0, 1}}, 0), InputError);
  EXPECT_THROW(heaviest_mass(Classes{{10, 0, 1}}, 65), InputError);
  EXPECT_THROW(heaviest_mass(Classes{{10.5, 0, 1}}, 2), InputError);
  EXPECT_THROW(heaviest_mass(Classes{}, 2), InputError);
  EXPECT_NO_THROW(heaviest_mass(Classes{{10.5, 0, 1}}, 1));
}

}  // namespace
}  // namespace largo::heaviest_tokens_test
