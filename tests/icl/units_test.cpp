// Risks, flows and thresholds of in-context regression do not depend on the units of the data.
//
// With x = t x', x_q = q x_q', w = h w' and γ = γ'/q², (A, b) = (q/t)(A', b') has the same scores, its risk
// is (qh)² times as large, and its flow takes 1/(th)² times as long.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "icl/regression_settings.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/runtime/check.hpp"

namespace largo::units_test {
namespace {

using test::kInfinity;
using test::random_matrix;

struct Units {
  double token, query, task;
  double parameters() const { return query / token; }
  double risk() const { return query * query * task * task; }
  double time() const { return 1 / (token * token * task * task); }
};

RegressionProblem in_units(const RegressionProblem& problem, const Units& of) {
  return {problem.covariance * (of.token * of.token), problem.query_covariance * (of.query * of.query),
          problem.prior_covariance * (of.task * of.task),
          problem.noise_variance * (of.token * of.token * of.task * of.task),
          problem.score_scale / (of.query * of.query)};
}

struct Setting {
  RegressionProblem problem;
  AttentionKind attention;
  double L;
  InvariantPoint start;
};

Setting random_setting(std::uint64_t id) {
  const auto d = static_cast<Eigen::Index>(1 + id % 3);
  Setting made{test::random_problem(id, d),
               id % 4 == 3 ? AttentionKind::linear : AttentionKind::softmax,
               id % 5 == 4 ? kInfinity : std::floor(std::pow(10.0, 0.5 + 1.1 * static_cast<double>(id % 5))),
               {}};
  if (id % 2 == 0) made.problem.query_covariance = made.problem.covariance;
  made.start = paper_start(made.problem, 0.5 * largest_admissible_alpha(made.problem),
                           id % 6 < 3 ? Matrix(Matrix::Identity(d, d)) : random_matrix(6000 + id, d, d));
  return made;
}

RegressionFlow flow_of(const Setting& setting, const Units& units, const FlowPlan& plan) {
  const InvariantPoint start{units.parameters() * setting.start.A, units.parameters() * setting.start.b};
  return regression_flow(in_units(setting.problem, units), setting.attention, setting.L, start, plan);
}

// Powers of two from 2^-60 to 2^60, or any numbers in between.
Units random_units(std::uint64_t id, bool powers) {
  const Matrix normal = random_matrix(7000 + id, 3, 1);
  const auto unit = [&](Eigen::Index i) {
    const double exponent = 60 * std::tanh(normal(i, 0));
    return std::exp2(powers ? std::round(exponent) : exponent);
  };
  return {unit(0), unit(1), unit(2)};
}

void expect_same_trajectories(std::uint64_t settings) {
  FlowPlan plan;
  plan.relative_tolerance = 1e-8;
  plan.absolute_tolerance = 1e-11;
  double largest = 0;
  for (std::uint64_t id = 0; id < settings; ++id) {
    SCOPED_TRACE(::testing::Message() << "setting " << id);
    const Setting setting = random_setting(id);
    const RegressionFlow given = flow_of(setting, {1, 1, 1}, plan);
    const auto& points = given.flow.trajectory.points();
    // With powers of two the steps are the same, to the bit.
    const Units two = random_units(id, true);
    const RegressionFlow same = flow_of(setting, two, plan);
    ASSERT_EQ(points.size(), same.flow.trajectory.points().size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const TrajectoryPoint& point = same.flow.trajectory.points()[i];
      ASSERT_EQ(points[i].time * two.time(), point.time) << i;
      ASSERT_EQ(points[i].parameters * two.parameters(), point.parameters) << i;
      ASSERT_EQ(points[i].risk * two.risk(), point.risk) << i;
    }
    EXPECT_EQ(given.flow.last.gradient * (two.risk() / two.parameters()), same.flow.last.gradient);
    // With any units the path is the same.
    const Units any = random_units(id, false);
    const RegressionFlow other = flow_of(setting, any, plan);
    EXPECT_TRUE(other.flow.stationary);
    const double size = std::hypot(given.last.A.norm(), given.last.b);
    for (const TrajectoryPoint& point : points) {
      const Vector there = other.flow.trajectory.at(point.time * any.time()) / any.parameters();
      const double gap = (other.map->map(there) - given.map->map(point.parameters)).norm() / size;
      largest = std::max(largest, gap);
      // Tolerances of the steps add up, and the end of a flat valley is known only to rounding over flatness.
      ASSERT_LE(gap, 2e-5) << "t = " << point.time;
    }
    EXPECT_NEAR(other.flow.last.value / any.risk(), given.flow.last.value,
                1e-8 * given.flow.trajectory.points().front().risk);
  }
  if (std::getenv("LARGO_LONG_TESTS") != nullptr) std::printf("largest distance %.2e\n", largest);
}

TEST(RegressionUnits, SameTrajectory) { expect_same_trajectories(6); }

TEST(RegressionUnits, SameTrajectoryInTwoHundredProblems) {
  if (std::getenv("LARGO_LONG_TESTS") == nullptr) GTEST_SKIP() << "set LARGO_LONG_TESTS=1";
  expect_same_trajectories(200);
}

TEST(RegressionUnits, SameThreshold) {
  for (const double c : {1e-120, 1e-60, 1e-8, 1e-5, 0.3, 1.0, 1e3, 1e25, 1e60, 1e120}) {
    const RegressionProblem problem = paper_problem(c * Matrix::Identity(2, 2));
    const InvariantPoint start = paper_start(problem, 0.5 * largest_admissible_alpha(problem));
    const Threshold found = threshold(problem, 0.01 * c, start);
    EXPECT_EQ(found.L, 1055) << c;
    EXPECT_EQ(found.before.L, 1054) << c;
    EXPECT_NEAR(found.risk / c, 0.009991752747, 1e-10) << c;
  }
}

// Whole flows, not only their ends, from starts far above the minimum in risk, or next to the saddle.
TEST(RegressionUnits, FlowsEndAtTheMinimum) {
  for (const double c : {1e-30, 1e-7, 1e-3, 1e3}) {
    const RegressionProblem problem = paper_problem(c * Matrix::Identity(2, 2));
    const InvariantPoint start = paper_start(problem, 0.5 * largest_admissible_alpha(problem));
    const RegressionFlow flow = regression_flow(problem, AttentionKind::softmax, 1000, start);
    EXPECT_TRUE(flow.flow.stationary);
    EXPECT_NEAR(flow.flow.last.value / c, 0.0105202282316, 1e-12) << c;  // as at c = 1
  }
}

TEST(RegressionUnits, RisksOfAnySize) {
  for (const double exponent : {-200.0, -88.0, 60.0, 300.0}) {
    for (const double L : {1.0, 30.0, kInfinity}) {
      for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
        const RegressionProblem problem = test::random_problem(3, 2);
        const Units units{std::exp2(exponent), std::exp2(exponent / 2), std::exp2(-exponent / 4)};
        const Vector at = test::random_invariant(3, 2);
        const RiskPoint given = invariant_risk(problem, kind, L)->at(at);
        const RiskPoint scaled =
            invariant_risk(in_units(problem, units), kind, L)->at(at * units.parameters());
        EXPECT_EQ(scaled.value, given.value * units.risk());
        EXPECT_EQ(scaled.gradient, given.gradient * (units.risk() / units.parameters()));
      }
    }
  }
}

// Times beyond the range of doubles are refused, not rounded to infinity.
TEST(RegressionUnits, RefusesWhatHasNoTime) {
  const RegressionProblem problem = paper_problem(1e-120 * Matrix::Identity(2, 2));
  const InvariantPoint start = paper_start(problem, 0.5 * largest_admissible_alpha(problem));
  try {
    regression_flow(problem, AttentionKind::softmax, 1000, start);
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("other units"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace largo::units_test
