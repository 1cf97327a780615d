// Errors that flows off the invariant set report: for every risk along the path, and for the risk at the end.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "largo/icl/exact_risk.hpp"
#include "largo/icl/invariant_set.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/training/training_plan.hpp"

namespace largo::flow_errors_test {
namespace {

Vector start_of(const RegressionProblem& problem, Parametrisation parameters) {
  const Eigen::Index d = problem.dimension();
  if (parameters == Parametrisation::factored) return random_factored_start(d, 1);
  const InvariantPoint point = paper_start(problem, 0.5 * largest_admissible_alpha(problem));
  Vector start(d * d + 1);
  start << point.A.reshaped(), point.b;
  return parameters == Parametrisation::invariant ? start : invariant_map(d)->map(start);
}

TrainingPlan plan_of(Eigen::Index d, double L, Parametrisation parameters) {
  TrainingPlan plan;
  plan.problem = paper_problem(Matrix::Identity(d, d));
  plan.parameters = parameters;
  plan.start = start_of(plan.problem, parameters);
  plan.lengths = {L};
  plan.flow.end = 30;
  return plan;
}

struct Setting {
  Eigen::Index d;
  double L;
  Parametrisation parameters;
};

// Every `stride`-th record is within record_error of the exact risk at its parameters, and so is the last.
void expect_honest_records(const Setting& setting, std::size_t stride) {
  const auto [d, L, parameters] = setting;
  SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L);
  const TrainingPlan plan = plan_of(d, L, parameters);
  const TrainingRun run = train(plan)[0];
  ASSERT_TRUE(run.record_error);
  EXPECT_LE(*run.record_error, 2e-3 * plan.problem.null_risk());
  const auto& points = run.path.points();
  for (std::size_t i = 0; i < points.size(); i += stride) {
    const Estimate risk = exact_risk(plan.problem, L, to_parameters(run.map->map(points[i].parameters), d));
    EXPECT_LE(std::abs(points[i].risk - risk.value), *run.record_error + risk.error)
        << "record " << i << " at t = " << points[i].time;
  }
  EXPECT_EQ(points.back().risk, run.final_risk.value);
}

// When the correction of the average over tasks was compared with the exact risk in the middle alone, these
// records were off by 13, 16, 1.6 and 3.4 times record_error.
TEST(FlowErrors, EveryRecordIsWithinItsError) {
  expect_honest_records({1, 1e4, Parametrisation::merged}, 1);
  expect_honest_records({1, 20, Parametrisation::factored}, 7);
  expect_honest_records({2, 20, Parametrisation::factored}, 12);
  expect_honest_records({3, 1000, Parametrisation::factored}, 11);
}

// A start on the invariant set stays there, so that flows in (U, v) are those in (A, b), which have no nodes.
TEST(FlowErrors, TheEndOfMergedFlowsIsWithinItsError) {
  for (const Eigen::Index d : {1, 2, 3}) {
    for (const double L : {20.0, 1000.0, 1e4}) {
      SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L);
      const Estimate merged = train(plan_of(d, L, Parametrisation::merged))[0].final_risk;
      const Estimate truth = train(plan_of(d, L, Parametrisation::invariant))[0].final_risk;
      EXPECT_LE(std::abs(merged.value - truth.value), merged.error);
      EXPECT_LE(merged.error, 0.1 * truth.value);  // small enough to be of use
    }
  }
}

// The reference has four times as many nodes, another seed, and a tenth of the tolerance.
TEST(FlowErrors, TheEndOfFactoredFlowsIsWithinItsError) {
  const Setting settings[] = {{1, 20, Parametrisation::factored},
                              {2, 20, Parametrisation::factored},
                              {3, 1000, Parametrisation::factored}};
  for (const auto& [d, L, parameters] : settings) {
    SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L);
    TrainingPlan plan = plan_of(d, L, parameters);
    const Estimate given = train(plan)[0].final_risk;
    plan.nodes = {.count = 4 * plan.nodes.count, .seed = 99};
    plan.node_tolerance /= 10;
    const Estimate finer = train(plan)[0].final_risk;
    EXPECT_LE(std::abs(given.value - finer.value), given.error);
    EXPECT_LE(given.error, 0.1 * finer.value);
  }
}

// d = 1, everything standard, A(0) = b(0) = 1/√2, an infinite prompt: A² = b² = 1/(1 + e^{-2t}) in closed
// form. At t = 5 the risk of merged parameters used to be off by a factor of 1300, and its error was 7e-28.
TEST(FlowErrors, StepsToATimeAreWithinTheError) {
  for (const Parametrisation parameters : {Parametrisation::invariant, Parametrisation::merged}) {
    TrainingPlan plan = plan_of(1, std::numeric_limits<double>::infinity(), parameters);
    for (plan.flow.end = 0.25; plan.flow.end < 8; plan.flow.end += 0.25) {
      const Estimate found = train(plan)[0].final_risk;
      const double rest = 1 / (1 + std::exp(2 * plan.flow.end));  // 1 - A b
      EXPECT_LE(std::abs(found.value - 0.5 * rest * rest), found.error) << "t = " << plan.flow.end;
      EXPECT_LE(found.error, 1e-6 * rest) << "t = " << plan.flow.end;
    }
  }
}

// Three flows over other tasks, with the same tolerance, differ from the flow that counts by nearly the same
// amount, which changes its sign close to t = 18.9.
TEST(FlowErrors, ADifferenceThatChangesItsSignIsNoError) {
  const auto plan_at = [](double time, Parametrisation parameters) {
    TrainingPlan plan = plan_of(1, 548000, parameters);
    plan.problem = paper_problem(Matrix{{0.727}});
    plan.flow.end = time;
    const Vector start{{2.62e-4, 2.62e-4}};
    plan.start = parameters == Parametrisation::invariant ? start : invariant_map(1)->map(start);
    return plan;
  };
  for (const double time : {18.0, 18.8, 18.9, 19.0, 19.2}) {
    const Estimate merged = train(plan_at(time, Parametrisation::merged))[0].final_risk;
    const Estimate truth = train(plan_at(time, Parametrisation::invariant))[0].final_risk;
    EXPECT_LE(std::abs(merged.value - truth.value), merged.error + truth.error) << "t = " << time;
  }
}

}  // namespace
}  // namespace largo::flow_errors_test
