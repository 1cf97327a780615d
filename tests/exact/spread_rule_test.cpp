// Averages of e^{-t s²}, s² = Σ λ_j y_j², against products of Gaussian integrals:
//
//   E e^{-t s²} = Π D_j^{1/2},   times y_j²: D_j,   times y_j² y_k²: (1 + 2 [j = k]) D_j D_k,
//   D_j = 1/(1 + 2tλ_j).
#include "exact/spread_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "icl/risk_statistics.hpp"

namespace largo::spread_rule_test {
namespace {

// Relative to each average: of the averages times 1 and y_j², which make the value of a risk and its error
// estimate (kSpreadRuleError in invariant_risk.cpp), and of all averages, where spreads are of similar size,
// or zero, and where they are not. The products y_j² y_k², the least accurate, enter gradients alone.
constexpr double kValues = 1e-10;
constexpr double kFairRatios = 2e-10;
constexpr double kAnyRatios = 1e-9;

Vector vector(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
}

Vector closed_forms(const Vector& lambda, double t) {
  const Eigen::Index d = lambda.size();
  const Vector D = (1 + 2 * t * lambda.array()).inverse();
  Vector averages(1 + d + d * (d + 1) / 2);
  averages[0] = std::sqrt(D.prod());
  for (Eigen::Index j = 0; j < d; ++j) {
    averages[1 + j] = averages[0] * D[j];
    for (Eigen::Index k = 0; k <= j; ++k) {
      averages[exact::SpreadRule::moment_row(d, j, k)] = averages[0] * D[j] * D[k] * (j == k ? 3 : 1);
    }
  }
  return averages;
}

Vector errors(const exact::SpreadRule& rule, const Vector& lambda, double t) {
  const Vector values = (-t * rule.squares().array()).exp();
  const Vector got = rule.weights() * values, expected = closed_forms(lambda, t);
  return ((got - expected).array() / expected.array()).abs();
}

// t λ_max: the function falls slowly and fast, is constant, or rises (up to 0.3 of where the average is
// infinite). Statistics of softmax attention fall more slowly than the fastest of these.
const std::vector<double> kDecays = {-0.15, -0.05, 0, 0.01, 0.3, 1, 10};

void expect_averages(const Vector& lambda, double tolerance) {
  const exact::SpreadRule rule(lambda, 1e3);
  for (const double t : kDecays) {
    const Vector relative = errors(rule, lambda, t / lambda.maxCoeff());
    EXPECT_LE(relative.maxCoeff(), tolerance) << "t = " << t << ", lambda = " << lambda.transpose();
    EXPECT_LE(relative.head(1 + lambda.size()).maxCoeff(), kValues)
        << "t = " << t << ", lambda = " << lambda.transpose();
  }
}

TEST(SpreadRule, EqualSpreads) {
  for (const Eigen::Index d : {1, 2, 5, 10}) expect_averages(Vector::Ones(d), kFairRatios);
}

TEST(SpreadRule, AnyUnitOfTheSpreads) {
  for (const double unit : {1e-30, 3e-3, 7.0, 1e20})
    expect_averages(unit * vector({1, 0.3, 0.4}), kFairRatios);
}

TEST(SpreadRule, UnequalSpreads) {
  expect_averages(vector({1, 0.9}), kFairRatios);
  expect_averages(vector({0.2, 1}), kFairRatios);
  expect_averages(vector({1, 0.7, 0.5, 0.2, 0.1}), kFairRatios);
  expect_averages(vector({1, 0.99, 0.98, 0.5, 0.49, 0.3, 0.2, 0.1, 0.09, 0.08}), kFairRatios);
}

TEST(SpreadRule, SmallRatios) {
  for (const double ratio : {1e-2, 1e-3, 1e-4}) {
    expect_averages(vector({1, ratio}), kAnyRatios);
    expect_averages(vector({ratio, 1, ratio}), kAnyRatios);
    expect_averages(vector({1, std::sqrt(ratio), ratio, ratio, 0.5}), kAnyRatios);
    Vector geometric(10);
    for (Eigen::Index j = 0; j < 10; ++j) geometric[j] = std::pow(ratio, static_cast<double>(j) / 9);
    expect_averages(geometric, kAnyRatios);
  }
}

// Spreads of zero do not enter s²: their y² has mean one, whatever the function.
TEST(SpreadRule, ZeroSpreads) {
  expect_averages(vector({1, 0}), kFairRatios);
  expect_averages(vector({0, 0.4, 0, 1, 0.01}), kFairRatios);
  expect_averages(vector({0, 0, 0, 0, 0, 0, 0, 0, 0, 2}), kFairRatios);
}

// With large scores, functions change at s² = 1 and fall like a power. One such function is
// 1/(1 + s²)² = ∫ u e^{-u (1 + s²)} du: its averages are those of e^{-u s²} integrated against u e^{-u}, by
// the trapezoidal rule in ln u.
TEST(SpreadRule, LargeScores) {
  for (const double largest : {1.0, 1e2, 1e4}) {
    for (const Vector& lambda :
         {Vector(largest * Vector::Ones(5)), Vector(largest * vector({1, 0.3, 0.01})), vector({largest})}) {
      constexpr double kStep = 0.1;
      Vector expected = 0 * closed_forms(lambda, 0);
      for (double x = -30; x < 4; x += kStep) {
        const double u = std::exp(x);
        expected += kStep * u * u * std::exp(-u) * closed_forms(lambda, u);
      }
      const exact::SpreadRule rule(lambda, 1e3);
      const Vector got = rule.weights() * Vector((1 + rule.squares().array()).square().inverse());
      EXPECT_LE(((got - expected).array() / expected.array()).abs().maxCoeff(), kAnyRatios)
          << lambda.transpose();
    }
  }
}

// The error is estimated from every other node, which is less accurate, by no more than the square root.
TEST(SpreadRule, EveryOtherNode) {
  const Vector lambda = vector({1, 0.4, 0.05});
  const exact::SpreadRule rule(lambda, 1e3);
  for (const double t : {0.3, 1.0, 10.0}) {
    const Vector values = (-t * rule.squares().array()).exp();
    const Vector coarse = rule.coarse_averages(values), exact = closed_forms(lambda, t);
    const double error = std::abs(coarse[0] / exact[0] - 1);
    EXPECT_LE(error, 1e-4) << t;
    EXPECT_LE(errors(rule, lambda, t).maxCoeff(), error * error + kFairRatios) << t;
  }
}

// The cost of an exact risk is that of its nodes, and L = 1e12 has as many as L = 1.
TEST(SpreadRule, AsManyNodesForEveryLength) {
  const Vector lambda = vector({1, 0.7, 0.5, 0.2, 0.1});
  const Eigen::Index size = exact::SpreadRule(lambda, 1).size();
  EXPECT_EQ(exact::SpreadRule(lambda, 1e2).size(), size);
  EXPECT_EQ(exact::SpreadRule(lambda, 1e12).size(), size);
  EXPECT_LE(exact::SpreadRule(lambda, 1e300).size(), 3 * size);
  EXPECT_LE(size, 200);
}

// p, φ and their slopes, averaged with every product: one column for each.
Matrix softmax_averages(const Vector& ratios, double spread, double length, int refinement) {
  const exact::SpreadRule rule(ratios, length, refinement);
  const auto table = SoftmaxTable::shared(length);
  Matrix values(rule.size(), 4);
  for (Eigen::Index i = 0; i < rule.size(); ++i) {
    const icl::RiskStatistics f = icl::risk_statistics(*table, spread * spread * rule.squares()[i]);
    values.row(i) << f.p, f.phi, f.p_slope, f.phi_slope;
  }
  return rule.weights() * values;
}

// Long prompts change regime within a step of the rule if the scores are large, unless it is refined. The
// errors are those of the rule alone: both sides interpolate one table.
TEST(SpreadRule, StatisticsOfLongPrompts) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform;
  for (const double length : {64.0, 1e4, 1e8, 1e12, 1e15, 1e50, 1e100}) {
    for (const double spread : {0.4, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 60.0, 300.0}) {
      for (const Eigen::Index d : {1, 2, 3, 5}) {
        Vector ratios(d);
        for (double& ratio : ratios) ratio = std::pow(1e-3, uniform(random));
        ratios /= ratios.maxCoeff();
        const double largest = spread * (1 + 0.3 * uniform(random));
        const int refinement = exact::SpreadRule::refinement(largest, length);
        const Matrix got = softmax_averages(ratios, largest, length, refinement);
        const Matrix finer = softmax_averages(ratios, largest, length, 4 * refinement);
        const Matrix relative = ((got - finer).array() / finer.array()).abs();
        EXPECT_LE(relative.topLeftCorner(1 + d, 2).maxCoeff(), kValues)
            << "L = " << length << ", spread " << largest << ", ratios " << ratios.transpose();
        EXPECT_LE(relative.rightCols(2).maxCoeff(), kAnyRatios)
            << "L = " << length << ", spread " << largest << ", ratios " << ratios.transpose();
      }
    }
  }
}

// A refined rule is the same integral.
TEST(SpreadRule, AnyRefinement) {
  const Vector lambda = vector({1, 0.4, 0.05});
  for (const int refinement : {2, 3, 8}) {
    const exact::SpreadRule rule(lambda, 1e3, refinement);
    for (const double t : kDecays) EXPECT_LE(errors(rule, lambda, t).maxCoeff(), 1e-12) << refinement;
  }
}

// Moderate settings have the plain rule, and its cost.
TEST(SpreadRule, RefinesLongPromptsWithLargeScores) {
  for (const double length : {1.0, 10.0, 1e4, 1e300}) {
    EXPECT_EQ(exact::SpreadRule::refinement(1e-100, length), 1);
    EXPECT_EQ(exact::SpreadRule::refinement(2, length), 1);
  }
  EXPECT_EQ(exact::SpreadRule::refinement(3, 1e4), 1);
  EXPECT_EQ(exact::SpreadRule::refinement(1e6, 10), 1);
  EXPECT_EQ(exact::SpreadRule::refinement(10, 1e4), 2);
  EXPECT_EQ(exact::SpreadRule::refinement(1e6, 1e8), 2);
  EXPECT_EQ(exact::SpreadRule::refinement(1e6, 1e20), 3);
  EXPECT_EQ(exact::SpreadRule::refinement(1e6, 1e300), 11);
}

}  // namespace
}  // namespace largo::spread_rule_test
