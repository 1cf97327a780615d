#include "largo/icl/threshold.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "icl/planar_risk.hpp"
#include "icl/regression_settings.hpp"
#include "largo/runtime/check.hpp"

namespace largo::threshold_test {
namespace {

double best_risk(int d, double L) { return test::minimise(test::planar_risk(d, 0, L), 0.6, 1.4).risk; }

// The answer of `largo icl threshold --epsilon 0.01 --d 5`, against the minimum of a planar integral.
TEST(Threshold, OfTheRoundProblem) {
  const RegressionProblem problem = test::round_problem(5);
  ThresholdPlan plan;
  std::set<double> seen;
  plan.trained = [&](double L, double) { EXPECT_TRUE(seen.insert(L).second) << "trained twice: " << L; };
  const Threshold found = threshold(problem, 0.01, paper_start(problem, 0.5), plan);
  EXPECT_EQ(found.L, 4745);
  EXPECT_EQ(found.before.L, 4744);
  EXPECT_LE(found.risk, found.limit + 0.01);
  EXPECT_GT(found.before.risk, found.limit + 0.01);
  EXPECT_NEAR(found.limit, 0, 1e-12);
  EXPECT_NEAR(found.risk, best_risk(5, 4745), 1e-9);
  EXPECT_NEAR(found.before.risk, best_risk(5, 4744), 1e-9);
  EXPECT_LE(best_risk(5, 4745), 0.01);
  EXPECT_GT(best_risk(5, 4744), 0.01);
  EXPECT_EQ(seen.size(), found.tried.size());
  EXPECT_LE(seen.size(), 15U);
}

// This epsilon is close to where neighbouring lengths can hardly be told apart.
TEST(Threshold, OfASmallEpsilon) {
  const RegressionProblem problem = test::round_problem(3);
  const Threshold found = threshold(problem, 1e-6, paper_start(problem, 0.5));
  EXPECT_LE(best_risk(3, found.L * (1 + 1e-6)), 1e-6);
  EXPECT_GT(best_risk(3, found.L * (1 - 1e-6)), 1e-6);
  EXPECT_EQ(found.before.L, found.L - 1);
}

TEST(Threshold, OfLinearAttention) {
  const RegressionProblem problem = test::round_problem(5);
  ThresholdPlan plan;
  plan.attention = AttentionKind::linear;
  const double epsilon = 0.0101;  // no whole length meets it exactly
  const Threshold found = threshold(problem, epsilon, paper_start(problem, 0.5), plan);
  // ½ d (d + 1)/(L + d + 1), from b²a² ((1 + 1/L) d + d²/L) - 2abd + d
  EXPECT_EQ(found.L, std::ceil(0.5 * 30 / epsilon - 6));
}

TEST(Threshold, OneTokenIsEnough) {
  const RegressionProblem problem = test::round_problem(2);
  const Threshold found = threshold(problem, 1.5, paper_start(problem, 0.5));
  EXPECT_EQ(found.L, 1);
  EXPECT_EQ(found.before.L, 0);
  EXPECT_EQ(found.tried.size(), 1U);
}

TEST(Threshold, BadInput) {
  const RegressionProblem problem = test::round_problem(2);
  const InvariantPoint start = paper_start(problem, 0.5);
  for (const double bad : {0.0, -0.1, std::nan("")}) EXPECT_THROW(threshold(problem, bad, start), InputError);
  try {
    threshold(problem, 1e-17, start);
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("1e+11"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace largo::threshold_test
