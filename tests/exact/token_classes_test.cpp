#include "largo/exact/token_classes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/math/quadrature/exp_sinh.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "exact/log_remainder.hpp"
#include "exact/token_classes_oracle.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"

namespace largo::token_classes_test {
namespace {

using Classes = std::vector<TokenClass>;
using oracle::Long;

std::string shown(const Classes& classes) {
  std::string text;
  for (const TokenClass& one : classes) {
    text +=
        std::to_string(one.count) + ":" + std::to_string(one.shift) + ":" + std::to_string(one.spread) + " ";
  }
  return text;
}

// The promise of the header: 1e-10, and the estimate covers the error. `size` is what the error is relative
// to.
void expect_close(const Estimate& found, Long truth, Long size, const std::string& what) {
  const double error = static_cast<double>(std::abs(found.value - truth));
  EXPECT_LE(error, 1e-10 * static_cast<double>(size)) << what << ": " << found.value << " for " << truth;
  // The reference has the digits of its own rounding.
  EXPECT_LE(error, found.error + 1e-15 * static_cast<double>(size)) << what;
}

void expect_moments(const Classes& classes, const oracle::ClassReference& truth) {
  const ClassMoments found = class_moments(classes);
  const std::string at = shown(classes);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    expect_close(found.weights[c], truth.weights[c], truth.weights[c], at + "weight " + std::to_string(c));
    expect_close(found.squares[c], truth.squares[c], truth.squares[c], at + "square " + std::to_string(c));
  }
  expect_close(found.P2, truth.P2, truth.P2, at + "P2");
  expect_close(found.P3, truth.P3, truth.P3, at + "P3");
  expect_close(found.P2P2, truth.P2P2, truth.P2P2, at + "P2P2");
  expect_close(found.log_partition, truth.log_partition, std::max(1.0L, std::abs(truth.log_partition)),
               at + "log-partition");
  // The reference is a difference: its error is that of its terms.
  const double rounding = 1e-17 * static_cast<double>(1 + std::abs(truth.log_partition)) * 100;
  EXPECT_NEAR(found.entropy.value, static_cast<double>(truth.entropy),
              1e-10 * static_cast<double>(truth.entropy) + rounding)
      << at;
  EXPECT_LE(std::abs(found.entropy.value - static_cast<double>(truth.entropy)),
            found.entropy.error + rounding)
      << at;
  EXPECT_NEAR(found.self_check, 0, 1e-12) << at;
}

// 1 to 4 classes, counts 1 to 1e12 (a third of them one), spreads 0 to 20 (a third of them zero), shifts ±50.
Classes random_prompt(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  Classes classes(1 + random() % 4);
  for (TokenClass& one : classes) {
    one.count = random() % 3 == 0 ? 1 : std::round(std::pow(10, 12 * uniform(random)));
    one.spread = random() % 3 == 0 ? 0 : random() % 2 == 0 ? 3 * uniform(random) : 20 * uniform(random);
    one.shift = random() % 2 == 0 ? 5 * (2 * uniform(random) - 1) : 50 * (2 * uniform(random) - 1);
  }
  return classes;
}

TEST(TokenClasses, KnownValues) {
  // By 10^6 simulated prompts: digits that agree are given.
  const Classes prompt = {{200, 0, 1.5}, {30, 1, 0.5}, {1, 6, 0}, {1, 4, 0}};
  const ClassMoments m = class_moments(prompt);
  const double weights[] = {0.523222, 0.0799904, 0.349489, 0.0472982};
  for (std::size_t c = 0; c < 4; ++c) EXPECT_NEAR(m.weights[c].value, weights[c], 1e-6);
  EXPECT_NEAR(m.P2.value, 0.1364587, 1e-7);
  EXPECT_NEAR(m.log_partition.value, 7.0563326, 1e-7);
  EXPECT_NEAR(m.entropy.value, 3.5169109, 1e-7);
}

TEST(TokenClasses, AgreeWithTheReference) {
  std::mt19937_64 random(1);
  const bool all = std::getenv("LARGO_LONG_TESTS") != nullptr;
  for (int i = 0; i < (all ? 2000 : 20); ++i) {
    const Classes prompt = random_prompt(random);
    expect_moments(prompt, oracle::class_reference(prompt));
    if (HasFailure()) break;
  }
}

TEST(TokenClasses, ReferenceHasConverged) {
  for (const Classes& prompt :
       {Classes{{1, 0, 20}, {1e6, 3, 1}}, Classes{{1e12, -20, 6}, {1, 5, 0}, {7, 0, 0.1}}}) {
    const oracle::ClassReference one = oracle::class_reference(prompt),
                                 two = oracle::class_reference(prompt, 2);
    for (std::size_t c = 0; c < prompt.size(); ++c)
      EXPECT_NEAR(static_cast<double>(one.weights[c] / two.weights[c]), 1, 1e-15);
    EXPECT_NEAR(static_cast<double>(one.P2P2 / two.P2P2), 1, 1e-15);
    EXPECT_NEAR(static_cast<double>(one.log_partition - two.log_partition), 0, 1e-15);
  }
}

TEST(TokenClasses, OneClassIsTheCrowd) {
  for (const double s : {0.3, 1.0, 2.0, 6.0, 20.0}) {
    for (const double L : {1.0, 2.0, 37.5, 1e4, 1e12, 1e100, 1e300}) {
      const ClassMoments m = class_moments(Classes{{L, -3, s}});
      const SoftmaxMoments known = softmax_moments(s, L);
      EXPECT_NEAR(m.P2.value, known.P2.value, m.P2.error + known.P2.error) << s << ' ' << L;
      EXPECT_NEAR(m.P3.value, known.P3.value, m.P3.error + known.P3.error) << s << ' ' << L;
      EXPECT_NEAR(m.P2P2.value, known.P2P2.value, m.P2P2.error + known.P2P2.error) << s << ' ' << L;
      // E Σ p x = b + s E[A]
      EXPECT_NEAR(m.mean_score.value, -3 + s * known.mean.value, 1e-11 * (3 + s * s)) << s << ' ' << L;
    }
  }
}

// Splitting a class changes nothing but the names of its tokens.
TEST(TokenClasses, MayBeSplit) {
  const ClassMoments whole = class_moments(Classes{{1000, 1, 2}, {1, 8, 0}});
  const ClassMoments split = class_moments(Classes{{1, 8, 0}, {300, 1, 2}, {650, 1, 2}, {50, 1, 2}});
  EXPECT_NEAR(split.weights[1].value / whole.weights[0].value, 0.3, 1e-13);
  EXPECT_NEAR(split.P2P2.value / whole.P2P2.value, 1, 1e-12);
  EXPECT_NEAR(split.entropy.value / whole.entropy.value, 1, 1e-12);
  EXPECT_NEAR(mean_largest_weight(Classes{{1, 8, 0}, {300, 1, 2}, {700, 1, 2}}).value,
              mean_largest_weight(Classes{{1000, 1, 2}, {1, 8, 0}}).value, 1e-12);
}

// One token with nearly all the weight: H = p (1 - ln p) to first order, with p the weight of the other, and
// ln S - Σ p x would be zero to rounding.
TEST(TokenClasses, TinyEntropyKeepsItsDigits) {
  for (const double gap : {20.0, 40.0, 300.0}) {
    const double p = std::exp(-gap);
    const ClassMoments m = class_moments(Classes{{1, gap, 0}, {1, 0, 0}});
    EXPECT_NEAR(m.entropy.value / (p * (1 + gap)), 1, 1e-8 + 2 * gap * p);
    EXPECT_NEAR(m.weights[1].value / (p / (1 + p)), 1, 1e-12);
  }
  // With given scores everything is known: here to full accuracy.
  const double p = 1 / (1 + std::exp(12.0));
  const ClassMoments m = class_moments(Classes{{1, 7, 0}, {1, -5, 0}});
  EXPECT_NEAR(m.entropy.value / (-p * std::log(p) - (1 - p) * std::log1p(-p)), 1, 1e-12);
}

// The mean is found by a sum around its peak, which was once taken where only wide classes have it.
TEST(TokenClasses, MeanOfTheLogRemainder) {
  for (const double y : {-100.0, -30.0, -5.0, -1.0, 0.0, 1.0, 3.0}) {
    for (const double s : {0.01, 0.1, 0.5, 2.0, 18.0}) {
      double sum = 0;
      for (double g = -30; g < 30; g += 0.002) {
        sum += 0.002 * std::exp(-0.5 * g * g) / std::sqrt(2 * std::numbers::pi) *
               exact::log_remainder(y + s * g);
      }
      EXPECT_NEAR(exact::mean_log_remainder(y, s) / sum, 1, 1e-11) << y << ' ' << s;
    }
  }
}

TEST(TokenClasses, LogRemainder) {
  for (const double u : {1e-8, 0.01, 0.2, 0.23, 1.0, 5.0, 40.0}) {
    const auto rest = [&](double v) { return std::exp(-v) * (std::log(u + v) + std::numbers::egamma); };
    const double h = std::exp(-u) * boost::math::quadrature::exp_sinh<double>().integrate(rest);
    EXPECT_NEAR(exact::log_remainder(std::log(u)), h, 1e-13 * h + 1e-14) << u;
  }
  // Its derivative in ln u is -u e^-u (ln u + γ), also across the ends of the intervals of the table.
  for (double x = -30; x < 5; x += 0.0371) {
    const double step = 1e-4, u = std::exp(x);
    const double slope = (exact::log_remainder(x + step) - exact::log_remainder(x - step)) / (2 * step);
    EXPECT_NEAR(slope, -u * std::exp(-u) * (x + std::numbers::egamma), 1e-7 * u * (1 + std::abs(x)) + 1e-11)
        << x;
  }
}

// Of two tokens the larger weight is 1/(1 + e^-|D|), with D the difference of their scores.
TEST(LargestWeight, OfTwoTokens) {
  for (const Classes& pair :
       {Classes{{2, 3, 1.5}}, Classes{{2, 0, 0.01}}, Classes{{2, 0, 20}}, Classes{{1, 0, 20}, {1, 5, 0.1}},
        Classes{{1, 0, 3}, {1, -4, 0}}, Classes{{1, 0, 0.2}, {1, 3, 0}}, Classes{{1, 0, 1}, {1, 30, 2}},
        Classes{{1, 40, 20}, {1, -40, 20}}}) {
    const TokenClass &one = pair.front(), &other = pair.back();
    const double mean = one.shift - other.shift, deviation = std::hypot(one.spread, other.spread);
    // On either side of D = 0, where the integrand has a kink.
    double truth = 0;
    for (const double side : {-1.0, 1.0}) {
      truth += boost::math::quadrature::exp_sinh<double>().integrate([&](double size) {
        const double g = (side * size - mean) / deviation;
        return std::exp(-0.5 * g * g) / (std::sqrt(2 * std::numbers::pi) * deviation) / (1 + std::exp(-size));
      });
    }
    const Estimate found = mean_largest_weight(pair);
    EXPECT_NEAR(found.value, truth, 1e-11) << shown(pair);
    EXPECT_NEAR(found.value, truth, found.error + 1e-13) << shown(pair);
  }
}

TEST(LargestWeight, OfManyTokens) {
  const double cases[][2] = {{200, 1.5}, {3, 6}, {1000, 0.2}, {1e6, 4}};
  for (const auto& [n, s] : cases) {
    const Estimate found = mean_largest_weight(Classes{{n, -7, s}});
    EXPECT_NEAR(found.value / static_cast<double>(oracle::largest_weight_reference(n, s)), 1, 1e-8)
        << n << ' ' << s;
    EXPECT_LE(found.error, 1e-10 * found.value) << n << ' ' << s;
  }
}

// 60 settings, every statistic; false alarms 6e-5 for each comparison at 4 standard errors.
TEST(TokenClasses, AgreeWithSimulation) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  constexpr int kPrompts = 4000;
  double worst = 0;
  for (int setting = 0; setting < 60; ++setting) {
    Classes prompt(1 + random() % 4);
    for (TokenClass& one : prompt) {
      one = {static_cast<double>(1 + random() % 60), 4 * uniform(random) - 2,
             random() % 3 == 0 ? 0 : 3 * uniform(random)};
    }
    constexpr int kNumbers = 5;
    double sums[kNumbers + 4] = {}, squares[kNumbers + 4] = {};
    for (int k = 0; k < kPrompts; ++k) {
      std::vector<double> e;
      double S = 0, weighted = 0, largest = 0, squared = 0, parts[4] = {};
      for (std::size_t c = 0; c < prompt.size(); ++c) {
        for (int i = 0; i < static_cast<int>(prompt[c].count); ++i) {
          const double x = prompt[c].shift + prompt[c].spread * normal(random), w = std::exp(x);
          S += w;
          weighted += w * x;
          squared += w * w;
          parts[c] += w;
          largest = std::max(largest, w);
        }
      }
      const double P2 = squared / (S * S);
      double numbers[kNumbers + 4] = {P2, P2 * P2, std::log(S), std::log(S) - weighted / S, largest / S};
      for (std::size_t c = 0; c < 4; ++c) numbers[kNumbers + c] = parts[c] / S;
      for (int n = 0; n < kNumbers + 4; ++n) {
        sums[n] += numbers[n];
        squares[n] += numbers[n] * numbers[n];
      }
    }
    const ClassMoments m = class_moments(prompt);
    std::vector<double> exact = {m.P2.value, m.P2P2.value, m.log_partition.value, m.entropy.value,
                                 mean_largest_weight(prompt).value};
    for (const Estimate& weight : m.weights) exact.push_back(weight.value);
    for (std::size_t n = 0; n < exact.size(); ++n) {
      const double mean = sums[n] / kPrompts;
      const double error = std::sqrt(std::max(0.0, squares[n] / kPrompts - mean * mean) / kPrompts) +
                           1e-12 * std::abs(mean) + 1e-13;
      EXPECT_LE(std::abs(mean - exact[n]), 4 * error) << shown(prompt) << "number " << n;
      worst = std::max(worst, std::abs(mean - exact[n]) / error);
    }
  }
  EXPECT_GT(worst, 1.5) << "the standard errors are too large to find anything";
}

TEST(TokenClasses, BadInput) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW(class_moments(Classes{}), InputError);
  for (const TokenClass& bad :
       {TokenClass{0, 0, 1}, TokenClass{-1, 0, 1}, TokenClass{0.5, 0, 1}, TokenClass{kNan, 0, 1},
        TokenClass{kInfinity, 0, 1}, TokenClass{1, kNan, 1}, TokenClass{1, 2e6, 1},
        TokenClass{1, kInfinity, 1}, TokenClass{1, 0, -1}, TokenClass{1, 0, kNan}, TokenClass{1, 0, 2e6}}) {
    EXPECT_THROW(class_moments(Classes{{10, 0, 1}, bad}), InputError);
    EXPECT_THROW(mean_largest_weight(Classes{{10, 0, 1}, bad}), InputError);
  }
  EXPECT_THROW(class_moments(Classes(65, TokenClass{1, 0, 0})), InputError);
}

// The corners of the domain: finite, with weights that sum to one.
TEST(TokenClasses, CornersOfTheDomain) {
  for (const double count : {1.0, 1e300}) {
    for (const double shift : {-1e6, 0.0, 1e6}) {
      for (const double spread : {0.0, 1e-12, 1e-3, 30.0, 1e6}) {
        const Classes prompt = {{count, shift, spread}, {3, 0, 1}};
        const ClassMoments m = class_moments(prompt);
        EXPECT_NEAR(m.self_check, 0, 1e-9) << shown(prompt);
        EXPECT_TRUE(std::isfinite(m.entropy.value) && m.entropy.value >= 0)
            << shown(prompt) << m.entropy.value;
        EXPECT_TRUE(std::isfinite(m.log_partition.value)) << shown(prompt);
        const Estimate largest = mean_largest_weight(prompt);
        EXPECT_TRUE(largest.value > 0 && largest.value <= 1 + 1e-9) << shown(prompt) << largest.value;
        EXPECT_TRUE(std::isfinite(largest.error)) << shown(prompt);
      }
    }
  }
}

}  // namespace
}  // namespace largo::token_classes_test
