#include "largo/exact/needle_weight.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "largo/exact/token_classes.hpp"
#include "largo/runtime/check.hpp"

namespace largo::needle_weight_test {
namespace {

using Classes = std::vector<TokenClass>;

double normal_below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double weight_at(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

// Both chances: in absolute terms, and within their own errors. The references have a few epsilons of their
// own size.
void expect_chances(const NeedleWeight::Chances& found, double below, double above, double tolerance,
                    const std::string& at) {
  EXPECT_NEAR(found.below.value, below, tolerance) << at;
  EXPECT_NEAR(found.above.value, above, tolerance) << at;
  EXPECT_LE(std::abs(found.below.value - below), 2 * found.below.error + 3e-14 * below) << at;
  EXPECT_LE(std::abs(found.above.value - above), 2 * found.above.error + 3e-14 * above) << at;
}

// Beside one token of score s g, the weight is above x where g < ln(1/x - 1)/s.
TEST(NeedleWeight, OneOtherToken) {
  for (const double s : {1e-3, 0.02, 0.1, 0.3, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0}) {
    const NeedleWeight needle({{1, 0, s}}, 0);
    for (double z = -8; z <= 8; z += 0.8) {
      const double x = weight_at(-s * z), g = std::log((1 - x) / x) / s;
      if (!(x > 0 && x < 1)) continue;
      // The conditioning of x itself is 1/s.
      expect_chances(needle.at(x), normal_below(-g), normal_below(g), 1e-12 + 1e-14 / s,
                     std::to_string(s) + " at " + std::to_string(z));
    }
  }
}

// A score of its own only shifts the others, and so do planted tokens of given scores.
TEST(NeedleWeight, ShiftsAndGivenTokens) {
  const NeedleWeight needle({{1, -3, 1.5}, {2, 1, 0}, {1, 0.5, 0}}, 2);
  for (const double x : {0.1, 0.3, 0.5, 0.55, 0.6, 0.9}) {
    const double given = 2 * std::exp(-1.0) + std::exp(-1.5), rest = (1 - x) / x - given;
    const double g = rest > 0 ? (std::log(rest) + 5) / 1.5 : -std::numeric_limits<double>::infinity();
    expect_chances(needle.at(x), normal_below(-g), normal_below(g), 1e-12, std::to_string(x));
  }
  // Among given scores the weight is one number: e^2/(e^2 + e^1 + 1) = 0.665.
  const NeedleWeight fixed({{1, 1, 0}, {1, 0, 0}}, 2);
  const double weight = std::exp(2.0) / (std::exp(2.0) + std::exp(1.0) + 1);
  EXPECT_EQ(fixed.at(weight - 1e-12).below.value, 0);
  EXPECT_EQ(fixed.at(weight + 1e-12).below.value, 1);
  EXPECT_EQ(fixed.at(weight).below.error, 1);  // cannot be told
  EXPECT_NEAR(fixed.quantile(0.1).value, weight, 1e-12);
  EXPECT_NEAR(fixed.quantile(0.9).value, weight, 1e-12);
  // An equal token beside it: never more than half, and less if there is anything else.
  const NeedleWeight twin({{100, 0, 1}, {1, 10, 0}}, 10);
  EXPECT_EQ(twin.at(0.5).below.value, 1);
  EXPECT_LT(twin.at(0.5).below.error, 1e-12);
  // Almost all of the weight is given: the quantiles are known, though the chances are not.
  const NeedleWeight known({{10, -40, 1}, {1, 0, 0}}, 0);
  for (const double p : {0.05, 0.5, 0.95}) {
    EXPECT_NEAR(known.quantile(p).value, 0.5, 1e-14);
    EXPECT_LT(known.quantile(p).error, 1e-14);
  }
}

// Far from where a narrow class puts the weight nothing is computed; near it the error says what doubles
// allow.
TEST(NeedleWeight, NarrowClasses) {
  for (const double s : {1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4}) {
    const NeedleWeight needle({{1, 0, s}}, 0);
    EXPECT_EQ(needle.at(0.3).below.value, 0) << s;
    EXPECT_LT(needle.at(0.3).below.error, 1e-10) << s;
    EXPECT_EQ(needle.at(0.7).above.value, 0) << s;
    EXPECT_NEAR(needle.quantile(0.5).value, 0.5, 1e-12) << s;
    for (const double z : {-2.0, 0.3, 3.0}) {
      const double x = weight_at(-s * z), g = std::log((1 - x) / x) / s;
      const NeedleWeight::Chances found = needle.at(x);
      EXPECT_LE(std::abs(found.above.value - normal_below(g)), 2 * found.above.error + 1e-15 / s)
          << s << ' ' << z;
    }
  }
}

// Two tokens by a plain quadrature over the first of them.
TEST(NeedleWeight, TwoOtherTokens) {
  struct Pair {
    double s, b, t;
  };
  for (const Pair& pair : {Pair{1, 0, 1}, {0.3, 1, 2}, {4, -2, 0.2}, {8, 3, 6}}) {
    const NeedleWeight needle({{1, 0, pair.s}, {1, pair.b, pair.t}}, 0.5);
    for (const double x : {1e-4, 0.02, 0.3, 0.6, 0.95}) {
      const double level = std::exp(0.5) * (1 - x) / x, end = std::log(level) / pair.s;
      const auto integrand = [&](double g) {
        const double rest = level - std::exp(pair.s * g);
        return rest > 0 ? std::exp(-0.5 * g * g) / std::sqrt(2 * std::acos(-1)) *
                              normal_below((std::log(rest) - pair.b) / pair.t)
                        : 0;
      };
      double above = 0;
      // Panels that become finer towards the end, where the rest vanishes.
      double from = std::min(-12.0, end - 24);
      for (double gap = end - from; gap > 1e-15 * (1 + std::abs(end)) && from < 12;
           gap *= 0.8, from = end - gap) {
        above += boost::math::quadrature::gauss_kronrod<double, 31>::integrate(integrand, from,
                                                                               end - 0.8 * gap, 0, 0);
      }
      const NeedleWeight::Chances found = needle.at(x);
      EXPECT_NEAR(found.above.value, above, 2e-13) << pair.s << ' ' << x;
      EXPECT_NEAR(found.below.value, 1 - above, 2e-13) << pair.s << ' ' << x;
    }
  }
}

// E W = ∫ P(W > x) dx and E W² = ∫ 2x P(W > x) dx, which class_moments() computes without any contour. Below
// the quantile of 1e-11 the chance is one, beyond that of 1 - 1e-11 it is zero.
void expect_moments(const Classes& others, double score) {
  Classes all = others;
  all.push_back({1, score, 0});
  const ClassMoments known = class_moments(all);
  const NeedleWeight needle(others, score);
  const double low = needle.quantile(1e-11).value, high = needle.quantile(1 - 1e-11).value;
  const double from = std::log(low / (1 - low)), to = std::log(high / (1 - high));
  if (!(to < 20)) return;  // x itself has no digits there
  double error = 0;
  const auto moment = [&](const auto& slope) {
    const auto integrand = [&](double z) {
      const double x = weight_at(z);
      const Estimate above = needle.at(x).above;
      error = std::max(error, above.error);
      return above.value * slope(x) * x * (1 - x);
    };
    return boost::math::quadrature::gauss_kronrod<double, 31>::integrate(integrand, from, to, 8, 1e-11);
  };
  const double mean = low + moment([](double) { return 1.0; });
  const double square = low * low + moment([](double x) { return 2 * x; });
  const std::string at = std::to_string(others[0].count) + ":" + std::to_string(others[0].spread);
  EXPECT_NEAR(mean, known.weights.back().value, 5e-11 + 2 * error) << at;
  EXPECT_NEAR(square, known.squares.back().value, 5e-11 + 2 * error) << at;
}

TEST(NeedleWeight, HasTheMomentsOfClasses) {
  expect_moments({{3, 0, 0.5}}, 1);
  expect_moments({{7, 0, 3}}, 4);
  expect_moments({{40, 0, 1}, {5, 2, 0.3}}, 4);
  expect_moments({{1000, 0, 1.5}}, 8);
  expect_moments({{1000, 0, 4}, {1, 9, 0}}, 11);
  expect_moments({{1e5, 0, 5}, {30, 20, 0.1}}, 22);
  expect_moments({{1e8, -3, 2}}, 14);
  if (std::getenv("LARGO_LONG_TESTS") != nullptr) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(0, 1);
    for (int i = 0; i < 60; ++i) {
      const double count = std::round(std::pow(10, 6 * uniform(random))), s = 0.05 + 8 * uniform(random);
      expect_moments(
          {{count, 0, s}, {std::ceil(9 * uniform(random)), 4 * uniform(random), 2 * uniform(random)}},
          std::log(count) + 0.5 * s * s * uniform(random));
    }
  }
}

// Within 4 standard errors: another seed would fail one of the 20 comparisons with a chance of 1.3e-3.
TEST(NeedleWeight, AgreesWithSimulation) {
  struct Setting {
    Classes others;
    double score;
  };
  const std::vector<Setting> settings = {{{{50, 0, 2}}, 4},
                                         {{{500, 0, 0.3}, {1, 3, 0}}, 5},
                                         {{{20, 1, 1}, {200, 0, 3}}, 9},
                                         {{{2, 0, 6}, {8, 0, 0.5}}, 2}};
  constexpr int kDraws = 20000;
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const Setting& setting : settings) {
    std::vector<double> weights(kDraws);
    for (double& weight : weights) {
      double sum = std::exp(setting.score);
      for (const TokenClass& one : setting.others) {
        for (int i = 0; i < one.count; ++i) sum += std::exp(one.shift + one.spread * normal(random));
      }
      weight = std::exp(setting.score) / sum;
    }
    const NeedleWeight needle(setting.others, setting.score);
    for (const double probability : {0.01, 0.1, 0.5, 0.9, 0.99}) {
      const Estimate x = needle.quantile(probability);
      EXPECT_LE(x.error, 1e-10);
      EXPECT_NEAR(needle.at(x.value).below.value, probability, 1e-11);
      const auto below =
          std::count_if(weights.begin(), weights.end(), [&](double w) { return w <= x.value; });
      EXPECT_NEAR(static_cast<double>(below) / kDraws, probability,
                  4 * std::sqrt(probability * (1 - probability) / kDraws));
    }
  }
}

// A sum of very many tokens is its mean, and doubles do not resolve more.
TEST(NeedleWeight, VeryLongPrompts) {
  const double score = std::log(1e200) + 0.5;  // as heavy as the crowd
  const NeedleWeight needle({{1e200, 0, 1}}, score);
  EXPECT_EQ(needle.at(0.4).below.value, 0);
  EXPECT_EQ(needle.at(0.6).below.value, 1);
  EXPECT_LT(needle.at(0.6).below.error, 1e-20);
  EXPECT_NEAR(needle.quantile(0.25).value, 0.5, 1e-12);
  // 1e16 tokens: the weight is known to 1e-8, and its law is resolved with an error that says so.
  const NeedleWeight sharp({{1e16, 0, 1}}, std::log(1e16) + 0.5);
  const Estimate median = sharp.quantile(0.5), upper = sharp.quantile(normal_below(1));
  EXPECT_NEAR(median.value, 0.5, 1e-10);
  // ln S has the standard deviation √((e - 1)/L), and W moves by a quarter of that.
  EXPECT_NEAR((upper.value - median.value) / (0.25 * std::sqrt(std::expm1(1.0) / 1e16)), 1, 1e-4);
  EXPECT_LT(sharp.at(0.5).below.error, 1e-5);
}

TEST(NeedleWeight, Ends) {
  const NeedleWeight needle({{10, 0, 1}}, 2);
  EXPECT_EQ(needle.at(0).below.value, 0);
  EXPECT_EQ(needle.at(-1).above.value, 1);
  EXPECT_EQ(needle.at(1).below.value, 1);
  EXPECT_EQ(needle.at(7).above.value, 0);
  double last = 0;
  for (double x = 0.01; x < 1; x += 0.01) {
    const double below = needle.at(x).below.value;
    EXPECT_GE(below, last);
    last = below;
  }
}

TEST(NeedleWeight, Mistakes) {
  EXPECT_THROW(NeedleWeight({}, 1), InputError);
  EXPECT_THROW(NeedleWeight({{10, 0, 51}}, 1), InputError);
  EXPECT_THROW(NeedleWeight({{10.5, 0, 1}}, 1), InputError);
  EXPECT_THROW(NeedleWeight({{10, 0, 1}}, -720), InputError);  // nothing is left of it
  EXPECT_THROW(NeedleWeight({{1e300, 0, 50}}, 15), InputError);
  EXPECT_THROW(NeedleWeight({{10, 0, 1}}, 1).at(1e-300), InputError);
  EXPECT_THROW(NeedleWeight({{10, 0, 1}}, 1).quantile(1e-300), InputError);
  EXPECT_THROW(NeedleWeight({{10, 0, 1}}, std::nan("")), InputError);
  const NeedleWeight needle({{10, 0, 1}}, 1);
  EXPECT_THROW(needle.at(std::nan("")), InputError);
  // Far below the error of the chances, a quantile would be noise.
  EXPECT_THROW(NeedleWeight({{1e12, 0, 1}}, 28).quantile(1e-13), InputError);
  for (const double p : {0.0, 1.0, -0.5, 2.0, std::nan("")}) EXPECT_THROW(needle.quantile(p), InputError);
}

}  // namespace
}  // namespace largo::needle_weight_test
