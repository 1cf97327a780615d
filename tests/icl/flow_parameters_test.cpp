// The set of (A, b) among all parameters, smaller sets inside it, and distances between flows.
#include <gtest/gtest.h>

#include <cmath>

#include "icl/differences.hpp"
#include "icl/regression_settings.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/runtime/check.hpp"

namespace largo::flow_parameters_test {
namespace {

using test::kInfinity;
using test::random_matrix;

// The part of a gradient in (U, v) that leaves the invariant set: last row of U, last column of U, and v_x.
Vector outside(const Vector& gradient, Eigen::Index d) {
  const RegressionParameters parts = to_parameters(gradient, d);
  Vector all(3 * d + 1);
  all << parts.U.row(d).transpose(), parts.U.col(d).head(d), parts.v.head(d);
  return all;
}

TEST(InvariantSet, StaysInvariant) {
  const Eigen::Index d = 3;
  const RegressionProblem problem = test::random_problem(5, d);
  const Vector at = invariant_map(d)->map(test::random_invariant(5, d));
  for (const double L : {1.0, 30.0, kInfinity}) {
    const Vector gradient = general_risk(problem, AttentionKind::linear, L)->at(at).gradient;
    EXPECT_LE(outside(gradient, d).norm(), 1e-13 * gradient.norm()) << L;
  }
  // With the signs of all labels changed, the gradient outside changes its sign, and the rest does not.
  const auto exact = general_risk(problem, AttentionKind::linear, 5);
  RegressionParameters one = test::random_parameters(5, d), two = one;
  two.U.row(d).head(d) *= -1;
  two.v.head(d) *= -1;
  const RiskPoint here = exact->at(to_vector(one)), there = exact->at(to_vector(two));
  EXPECT_NEAR(here.value, there.value, 1e-13);
  EXPECT_LE((outside(here.gradient, d) + outside(there.gradient, d)).norm(), 1e-12 * here.gradient.norm());
}

void expect_isometric(const ParameterMap& map) {
  const Vector one = random_matrix(90, map.size(), 1), two = random_matrix(91, map.size(), 1);
  EXPECT_NEAR(map.map(one).dot(map.map(two)), one.dot(two), 1e-13 * one.norm() * two.norm());
  const Vector direction = random_matrix(92, map.mapped_size(), 1);
  const Vector differences =
      test::gradient_by_differences([&](const Vector& x) { return map.map(x).dot(direction); }, one, 0.1);
  EXPECT_LE((map.pull_back(one, direction) - differences).norm(), 1e-12 * direction.norm());
}

TEST(FlowParameters, SmallestSets) {
  const Eigen::Index d = 3;
  const RegressionProblem round = test::round_problem(d), any = test::random_problem(8, d);
  const RegressionProblem paper = paper_problem(any.covariance);
  const auto map = [](const RegressionProblem& problem, const InvariantPoint& start) {
    const auto made = flow_parameters(problem, start);
    expect_isometric(*made);
    return made->size();
  };
  EXPECT_EQ(map(round, paper_start(round, 0.5)), 2);
  EXPECT_EQ(map(paper, paper_start(paper, 0.5)), d + 1);
  EXPECT_EQ(map(round, paper_start(round, 0.5, random_matrix(93, d, d))), d + 1);
  EXPECT_EQ(map(paper, paper_start(paper, 0.5, random_matrix(93, d, d))), d * d + 1);
  EXPECT_EQ(map(any, paper_start(any, 0.5)), d * d + 1);
  EXPECT_EQ(map(paper, {random_matrix(94, d, d), 1}), d * d + 1);
  EXPECT_THROW(flow_parameters(round, {Matrix::Zero(2, 2), 1}), InputError);
}

// The flow is the same in all of (A, b), and for a start that is not quite diagonal.
TEST(FlowParameters, DoNotChangeTheFlow) {
  const Eigen::Index d = 3;
  const RegressionProblem paper = paper_problem(test::random_problem(8, d).covariance);
  FlowPlan plan;
  plan.end = 4;
  for (const RegressionProblem& problem : {test::round_problem(d), paper}) {
    for (const double L : {20.0, kInfinity}) {
      const InvariantPoint start = paper_start(problem, 0.5);
      const RegressionFlow flow = regression_flow(problem, AttentionKind::softmax, L, start, plan);
      EXPECT_LT(flow.map->size(), d * d + 1);
      Vector all(d * d + 1);
      all << start.A.reshaped(), start.b;
      const FlowResult full = gradient_flow(*invariant_risk(problem, AttentionKind::softmax, L), all, plan);
      for (const double t : {0.3, 1.0, 2.2, 4.0}) {
        EXPECT_LE((flow.map->map(flow.flow.trajectory.at(t)) - full.trajectory.at(t)).norm(), 1e-7) << t;
      }
      EXPECT_NEAR(flow.flow.last.value, full.last.value, 1e-8);
    }
  }
}

// As L grows, the flows approach that of an infinite prompt in every sense, and the distance falls more and
// more like 1/L (at short lengths it is of the size of the limit, and hardly falls).
TEST(FlowDistance, FallsWithTheLength) {
  const RegressionProblem problem = test::round_problem(5);
  const InvariantPoint start = paper_start(problem, 0.5);
  FlowPlan plan;
  plan.end = 5;
  const RegressionFlow limit = regression_flow(problem, AttentionKind::softmax, kInfinity, start, plan);
  FlowDistance before;
  before.parameters.value = before.risks.value = before.predictions.value = before.gradients.value = 1e300;
  for (const double L : {1e2, 1e3, 1e4, 1e5, 1e6}) {
    SCOPED_TRACE(::testing::Message() << "L = " << L);
    const RegressionFlow flow = regression_flow(problem, AttentionKind::softmax, L, start, plan);
    const FlowDistance distance = flow_distance(problem, flow, limit, 5);
    const auto expect_ratio = [&](const TrajectoryDistance& now, const TrajectoryDistance& then) {
      EXPECT_LT(now.value, (L < 1e4 ? 1 : L < 1e6 ? 0.6 : 0.25) * then.value);
      EXPECT_GT(now.value, L > 1e2 ? 0.05 * then.value : 0);
      EXPECT_LE(now.time, 5);
    };
    expect_ratio(distance.parameters, before.parameters);
    expect_ratio(distance.risks, before.risks);
    expect_ratio(distance.predictions, before.predictions);
    expect_ratio(distance.gradients, before.gradients);
    before = distance;
  }
  const FlowDistance none = flow_distance(problem, limit, limit);
  EXPECT_EQ(none.parameters.value, 0);
  EXPECT_EQ(none.risks.value, 0);
  EXPECT_EQ(none.predictions.value, 0);
  EXPECT_EQ(none.gradients.value, 0);
}

// At two points by hand: E <w, (bΣA - b'ΣA') x_q>² is |bA - b'A'|² if all covariances are I.
TEST(FlowDistance, AtTheStartAndTheEnd) {
  const RegressionProblem problem = test::round_problem(4);
  FlowPlan plan;
  plan.end = 1e-6;
  const RegressionFlow one =
      regression_flow(problem, AttentionKind::linear, 10, paper_start(problem, 0.5), plan);
  const RegressionFlow two =
      regression_flow(problem, AttentionKind::softmax, 50, paper_start(problem, 0.8), plan);
  const FlowDistance distance = flow_distance(problem, one, two, 1e-7);
  EXPECT_NEAR(distance.parameters.value, std::hypot(0.3, 0.3), 1e-6);
  EXPECT_NEAR(distance.predictions.value, 0.64 - 0.25, 1e-5);
  const auto risk = [&](AttentionKind kind, double L, double size) {
    return invariant_risk(problem, kind, L)->at(test::round_point(4, size / 2, size));
  };
  EXPECT_NEAR(
      distance.risks.value,
      std::abs(risk(AttentionKind::linear, 10, 0.5).value - risk(AttentionKind::softmax, 50, 0.8).value),
      1e-5);
  EXPECT_NEAR(
      distance.gradients.value,
      (risk(AttentionKind::linear, 10, 0.8).gradient - risk(AttentionKind::softmax, 50, 0.8).gradient).norm(),
      1e-5);
}

// A start that is not round has parameters of its own, but distances are still those of (A, b).
TEST(FlowDistance, OfFlowsInDifferentParameters) {
  const RegressionProblem problem = test::round_problem(4);
  FlowPlan plan;
  plan.end = 1e-6;
  const Matrix theta =
      test::random_matrix(90, 4, 4) + 3 * test::random_matrix(91, 4, 1).asDiagonal().toDenseMatrix();
  const InvariantPoint round = paper_start(problem, 0.5), other = paper_start(problem, 0.8, theta);
  const RegressionFlow one = regression_flow(problem, AttentionKind::linear, 10, round, plan);
  const RegressionFlow two = regression_flow(problem, AttentionKind::softmax, 50, other, plan);
  ASSERT_NE(one.map->size(), two.map->size());
  for (const bool turned : {false, true}) {
    const FlowDistance distance =
        turned ? flow_distance(problem, two, one, 1e-7) : flow_distance(problem, one, two, 1e-7);
    EXPECT_NEAR(distance.parameters.value, std::hypot((round.A - other.A).norm(), 0.3), 1e-5);
    EXPECT_NEAR(distance.predictions.value, (0.5 * round.A - 0.8 * other.A).norm(), 1e-5);
    Vector second(17);  // gradients are compared along its path
    second << (turned ? round : other).A.reshaped(), (turned ? round : other).b;
    const auto gradient = [&](AttentionKind kind, double L) {
      return invariant_risk(problem, kind, L)->at(second).gradient;
    };
    EXPECT_NEAR(distance.gradients.value,
                (gradient(AttentionKind::linear, 10) - gradient(AttentionKind::softmax, 50)).norm(), 1e-5);
  }
  EXPECT_THROW(flow_distance(test::round_problem(3), one, two), InputError);
  EXPECT_THROW(flow_distance(problem, one, {}), InputError);
}

}  // namespace
}  // namespace largo::flow_parameters_test
