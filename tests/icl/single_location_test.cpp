#include "largo/icl/single_location.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "exact/token_classes_oracle.hpp"
#include "icl/differences.hpp"
#include "largo/icl/single_location_training.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "support/sampled_mean.hpp"

namespace largo::single_location_test {
namespace {

using oracle::Long;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// 2 R - τ² along k* and v*, from the weights of token_classes_oracle, which shares no code with the library.
Long reference_excess(const SingleLocation& problem, double a, double b) {
  const oracle::ClassReference truth = oracle::class_reference(
      {{1, problem.signal * a, problem.needle_spread * std::abs(a)}, {problem.L - 1, 0, std::abs(a)}});
  const Long variance = Long(problem.needle_spread) * problem.needle_spread;
  return (variance * (1 - 2 * b * truth.weights[0] + b * b * truth.squares[0]) + b * b * truth.squares[1]) /
         2;
}

TEST(SingleLocation, RiskAgreesWithAnIndependentQuadrature) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (double L = 10; L <= 1e12; L *= 10) {
    for (int k = 0; k < (std::getenv("LARGO_LONG_TESTS") != nullptr ? 10 : 1); ++k) {
      const SingleLocation problem{.L = L,
                                   .signal = 10 * uniform(random),
                                   .needle_spread = 0.2 + 1.5 * uniform(random),
                                   .noise_variance = 0.1 * uniform(random)};
      const double a = 8 * uniform(random), b = 1.5 * uniform(random);
      const RiskPoint point = planar_single_location_risk(problem)->at(Eigen::Vector2d(a, b));
      const auto truth =
          static_cast<double>(reference_excess(problem, a, b) + Long(problem.noise_variance) / 2);
      EXPECT_NEAR(point.value, truth, 1e-12 * truth) << L << ' ' << a << ' ' << b;
      EXPECT_LE(std::abs(point.value - truth), point.error + 1e-15 * truth) << L << ' ' << a << ' ' << b;
    }
  }
}

// Two tokens, γ = 1, a = m, b = 1: the difference of the scores is D ~ N(m², 2m²), and the excess risk is
// E (1 + e^D)^-2, here by a plain sum.
Long two_tokens(Long m) {
  constexpr Long kStep = 1e-3L;
  Long sum = 0;
  for (Long g = -m - 12; g <= 12; g += kStep)
    sum += kStep * std::exp(-g * g / 2) * std::pow(1 + std::exp(m * m + std::sqrt(2.0L) * m * g), -2);
  return sum / std::sqrt(2 * std::numbers::pi_v<Long>);
}

TEST(SingleLocation, SmallRisksKeepTheirDigits) {
  for (const double m : {3.0, 8.0, 12.0, 30.0, 45.0}) {
    const SingleLocationBest best = best_single_location({.L = 2, .signal = m});
    const auto truth = static_cast<double>(two_tokens(m));
    EXPECT_NEAR(best.excess.value, truth, 1e-10 * truth) << m;
    EXPECT_LE(std::abs(best.excess.value - truth), best.excess.error + 1e-14 * truth) << m;
    const double risk = planar_single_location_risk({.L = 2, .signal = m})->at(Eigen::Vector2d(m, 1)).value;
    EXPECT_NEAR(risk, truth, 1e-10 * truth) << m;
  }
}

// ½ (f - y)² over drawn prompts, as the definition has it.
test::SampledMean simulated_risk(const SingleLocation& problem, const Vector& u, const Vector& v,
                                 int prompts) {
  const auto L = static_cast<std::ptrdiff_t>(problem.L), d = u.size();
  test::SampledMean risk;
  std::vector<double> drawn(static_cast<std::size_t>(L * d + 1));
  for (int k = 0; k < prompts; ++k) {
    Stream(3, static_cast<std::uint64_t>(k)).normals(0, drawn);
    Eigen::Map<RowMatrix> tokens(drawn.data(), L, d);
    tokens.row(0) *= problem.needle_spread;
    tokens(0, 0) += problem.signal;
    const double y = tokens(0, 1) + std::sqrt(problem.noise_variance) * drawn.back();
    const Vector scores = tokens * u;
    const Vector weights = (scores.array() - scores.maxCoeff()).exp();
    const double f = weights.dot(tokens * v) / weights.sum();
    risk.add(0.5 * (f - y) * (f - y));
  }
  return risk;
}

// At random u and v, off the plane of k* and v*: every term of the formula counts. For another seed one of
// the 8 comparisons is beyond 4 standard errors with a chance of 5e-4.
TEST(SingleLocation, RiskAgreesWithSimulation) {
  for (std::uint64_t k = 0; k < 8; ++k) {
    const SingleLocation problem{.L = k % 2 == 0 ? 6.0 : 40.0,
                                 .signal = 0.5 * static_cast<double>(k),
                                 .needle_spread = k % 3 == 0 ? 1 : 0.4 + 0.2 * static_cast<double>(k),
                                 .noise_variance = 0.2};
    std::vector<double> drawn(6);
    Stream(11, k).normals(0, drawn);
    const Vector u = Eigen::Map<Vector>(drawn.data(), 3), v = Eigen::Map<Vector>(drawn.data() + 3, 3);
    Vector both(6);
    both << u, v;
    const RiskPoint exact = single_location_risk(problem, 3)->at(both);
    const test::SampledMean simulated = simulated_risk(problem, u, v, 100000);
    EXPECT_NEAR(exact.value, simulated.value(), 4 * simulated.error()) << k;
    EXPECT_LE(simulated.error(), 0.02 * simulated.value()) << k;
  }
}

TEST(SingleLocation, GradientAgreesWithDifferences) {
  for (const double L : {2.0, 30.0, 1e6, 1e40, kInfinity}) {
    for (const double gamma : {1.0, 0.6, 1.7}) {
      const SingleLocation problem{.L = L, .signal = 3, .needle_spread = gamma, .noise_variance = 0.3};
      Vector at(8);
      at << 0.9, -0.4, 0.3, 0.7, 0.5, 1.1, -0.6, 0.2;
      const auto general = single_location_risk(problem, 4);
      const auto by_differences = [](const Risk& risk, const Vector& here) {
        return test::gradient_by_differences([&](const Vector& x) { return risk.at(x).value; }, here, 0.02);
      };
      EXPECT_LE((general->at(at).gradient - by_differences(*general, at)).norm(), 1e-10) << L << ' ' << gamma;
      const auto planar = planar_single_location_risk(problem);
      const Vector point = Eigen::Vector2d(1.3, 0.7);
      EXPECT_LE((planar->at(point).gradient - by_differences(*planar, point)).norm(), 1e-10) << L;
    }
  }
}

TEST(SingleLocation, ThePlaneIsPartOfTheWhole) {
  const SingleLocation problem{.L = 1e4, .signal = 4, .needle_spread = 0.8, .noise_variance = 0.1};
  const RiskPoint planar = planar_single_location_risk(problem)->at(Eigen::Vector2d(2, 0.7));
  Vector at = Vector::Zero(6);
  at[0] = 2;
  at[4] = 0.7;
  const RiskPoint whole = single_location_risk(problem, 3)->at(at);
  EXPECT_NEAR(whole.value, planar.value, 1e-14);
  EXPECT_NEAR(whole.gradient[0], planar.gradient[0], 1e-13);
  EXPECT_NEAR(whole.gradient[4], planar.gradient[1], 1e-13);
  // And a flow does not leave it.
  for (const int k : {1, 2, 3, 5}) EXPECT_EQ(whole.gradient[k], 0) << k;
}

// Softmax with a = m, b = 1 is the posterior mean of the target: no direction leads further down.
TEST(SingleLocation, AtTheSpreadOfTheCrowdTheBestHeadIsBayes) {
  for (const double L : {2.0, 10.0, 1e4, 1e12, 1e300}) {
    for (const double m : {0.5, 3.0, 8.0, 40.0}) {
      const SingleLocation problem{.L = L, .signal = m};
      Vector at = Vector::Zero(6);
      at[0] = m;
      at[4] = 1;
      const RiskPoint point = single_location_risk(problem, 3)->at(at);
      EXPECT_LE(point.gradient.norm(), 1e-11) << L << ' ' << m;
      const SingleLocationBest best = best_single_location(problem);
      EXPECT_EQ(best.a, m);
      EXPECT_EQ(best.b, 1);
      EXPECT_NEAR(best.excess.value, 0.5 * (1 - best.needle_weight.value), 1e-12) << L << ' ' << m;
      for (const double change : {-0.2, 0.2}) {
        const double worse =
            planar_single_location_risk(problem)->at(Eigen::Vector2d(m * (1 + change), 1)).value;
        EXPECT_GE(worse * (1 + 1e-12), best.excess.value) << L << ' ' << m;
      }
    }
  }
}

TEST(SingleLocation, BestForOtherSpreads) {
  for (const double gamma : {0.3, 0.7, 1.0001, 1.5, 3.0}) {
    for (const double L : {3.0, 100.0, 1e8}) {
      for (const double m : {0.0, 2.0, 6.0}) {
        const SingleLocation problem{.L = L, .signal = m, .needle_spread = gamma};
        const SingleLocationBest best = best_single_location(problem);
        const std::string at = std::to_string(gamma) + " " + std::to_string(L) + " " + std::to_string(m);
        const auto risk = planar_single_location_risk(problem);
        const RiskPoint point = risk->at(Eigen::Vector2d(best.a, best.b));
        EXPECT_NEAR(point.value, best.excess.value, 1e-12 * point.value) << at;
        EXPECT_LE(point.gradient.norm(), 1e-9 * point.value + 1e-15) << at;
        for (double a = 0; a < 40; a += 2.9)
          EXPECT_GE(best_value_scale(problem, a).excess.value * (1 + 1e-12), best.excess.value)
              << at << ' ' << a;
        if (gamma == 1.0001) {
          EXPECT_NEAR(best.a, m, 1e-2) << at;
        }
      }
    }
  }
}

TEST(SingleLocation, FlowsFromASmallStartFindTheNeedle) {
  for (const double gamma : {1.0, 0.7}) {
    for (double L = 10; L <= 1e10; L *= 100) {
      const SingleLocation problem{.L = L, .signal = 5, .needle_spread = gamma, .noise_variance = 0.1};
      const SingleLocationFlow found = single_location_flow(problem, 0.1, 0.1);
      const SingleLocationBest best = best_single_location(problem);
      EXPECT_TRUE(found.flow.stationary) << L;
      EXPECT_NEAR(found.last.a, best.a, 1e-6) << L;
      EXPECT_NEAR(found.last.b, best.b, 1e-6) << L;
      EXPECT_NEAR(found.last.excess.value, best.excess.value, 1e-10) << L;
      EXPECT_NEAR(found.last.needle_weight.value, best.needle_weight.value, 1e-6) << L;
    }
  }
}

// Below m = √(2 ln L) the needle is lost, above it is found.
TEST(SingleLocation, TheCriticalSignal) {
  for (const double gamma : {1.0, 0.5}) {
    double before_below = 0, before_above = 1;
    for (const double L : {1e10, 1e30, 1e100, 1e300}) {
      const double critical = std::sqrt(2 * std::log(L));
      const auto share = [&](double x) {
        const SingleLocation problem{.L = L, .signal = x * critical, .needle_spread = gamma};
        return best_single_location(problem).excess.value / problem.null_risk();
      };
      const double below = share(0.8), above = share(1.2);
      EXPECT_GE(below, before_below) << L;
      EXPECT_LT(above, before_above) << L;
      before_below = below;
      before_above = above;
    }
    EXPECT_GT(before_below, 0.999);
    EXPECT_LT(before_above, 0.001);
  }
}

TEST(SingleLocation, Thresholds) {
  for (const double gamma : {1.0, 0.8}) {
    const SingleLocation problem{.signal = 5, .needle_spread = gamma, .noise_variance = 3};
    const SingleLocationThreshold longest = longest_prompt(problem, 0.1);
    EXPECT_LE(longest.best.excess.value, 0.1);
    EXPECT_EQ(longest.problem.L, std::floor(longest.problem.L));
    SingleLocation longer = longest.problem;
    longer.L += 1;
    EXPECT_GT(best_single_location(longer).excess.value, 0.1);
    const SingleLocationThreshold weakest = weakest_signal(longest.problem, longest.best.excess.value);
    EXPECT_NEAR(weakest.problem.signal, 5, 1e-7);
    EXPECT_NEAR(weakest.best.excess.value, longest.best.excess.value, 1e-10);
  }
  EXPECT_GT(longest_prompt({.signal = 30}, 0.1).problem.L, 1e100);
  EXPECT_THROW(longest_prompt({.signal = 1}, 1e-3), InputError);
  EXPECT_THROW(longest_prompt({.signal = 45}, 0.1), InputError);
  EXPECT_THROW(longest_prompt({.signal = 5}, -1), InputError);
  EXPECT_THROW(weakest_signal({.L = 100}, 0), InputError);
}

TEST(SingleLocation, InfinitePrompts) {
  const SingleLocation problem{.L = kInfinity, .signal = 4, .needle_spread = 0.5, .noise_variance = 0.2};
  Vector at(4);
  at << 0.4, -0.3, 0.7, 0.6;
  const double c = at.head(2).dot(at.tail(2));
  EXPECT_NEAR(single_location_risk(problem, 2)->at(at).value, problem.null_risk() + c * c / 2, 1e-15);
  // As prompts grow with u and v fixed, the needle is lost.
  const SingleLocation long_one{.L = 1e200, .signal = 4, .needle_spread = 0.5, .noise_variance = 0.2};
  EXPECT_NEAR(single_location_risk(long_one, 2)->at(at).value, problem.null_risk() + c * c / 2, 1e-14);
  EXPECT_THROW(best_single_location(problem), InputError);
}

TEST(SingleLocation, BadInput) {
  const double nan = std::nan("");
  for (const SingleLocation& bad :
       {SingleLocation{.L = 1}, SingleLocation{.L = 1e301}, SingleLocation{.L = nan},
        SingleLocation{.signal = -1}, SingleLocation{.signal = nan}, SingleLocation{.signal = 51},
        SingleLocation{.needle_spread = 0}, SingleLocation{.needle_spread = kInfinity},
        SingleLocation{.noise_variance = -1}, SingleLocation{.noise_variance = nan}}) {
    EXPECT_THROW(check(bad), InputError);
    EXPECT_THROW(planar_single_location_risk(bad), InputError);
    EXPECT_THROW(best_single_location(bad), InputError);
  }
  EXPECT_THROW(single_location_risk({}, 1), InputError);
  const auto risk = planar_single_location_risk({});
  EXPECT_THROW(risk->at(Eigen::Vector3d::Zero()), InputError);
  EXPECT_THROW(risk->at(Eigen::Vector2d(nan, 0)), InputError);
  EXPECT_THROW(risk->at(Eigen::Vector2d(1e7, 0)), InputError);
}

}  // namespace
}  // namespace largo::single_location_test
