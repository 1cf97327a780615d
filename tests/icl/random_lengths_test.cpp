// Prompts of random length: risks are averages over the law, descents draw the lengths, and flows end where
// these descents end.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "icl/regression_settings.hpp"
#include "largo/icl/exact_risk.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/check.hpp"

namespace largo::random_lengths_test {
namespace {

template <typename Value>
auto average(const LengthLaw& law, const Value& value) {
  decltype(value(1.0)) sum = law.probabilities()[0] * value(law.lengths()[0]);
  for (std::size_t i = 1; i < law.lengths().size(); ++i) {
    sum += law.probabilities()[i] * value(law.lengths()[i]);
  }
  return sum;
}

TEST(RandomLengths, TheInvariantRiskIsTheAverage) {
  const LengthLaw law = LengthLaw::uniform(1, 64);
  for (const Eigen::Index d : {1, 3, 5}) {
    const auto id = static_cast<std::uint64_t>(d);
    const RegressionProblem problem = test::random_problem(id, d);
    const Vector at = test::random_invariant(id, d);
    for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
      const RiskPoint got = invariant_risk(problem, kind, law)->at(at);
      const double value =
          average(law, [&](double L) { return invariant_risk(problem, kind, L)->at(at).value; });
      const Vector gradient =
          average(law, [&](double L) { return Vector(invariant_risk(problem, kind, L)->at(at).gradient); });
      EXPECT_NEAR(got.value, value, 1e-11 * value) << d;
      EXPECT_LE((got.gradient - gradient).norm(), 1e-10 * gradient.norm()) << d;
      EXPECT_LE(std::abs(got.value - value), got.error + 1e-13 * value) << d;
    }
    // Negative control: prompts of the mean length have another risk.
    const double other = invariant_risk(problem, AttentionKind::softmax, law.mean())->at(at).value;
    const double value = invariant_risk(problem, AttentionKind::softmax, law)->at(at).value;
    EXPECT_GT(std::abs(other - value), 1e-3 * value);
  }
}

TEST(RandomLengths, RisksOffTheInvariantSetAreAverages) {
  const LengthLaw law({4, 30, 500}, {0.2, 0.5, 0.3});
  const RegressionProblem problem = test::random_problem(11, 3);
  const RegressionParameters parameters = test::random_parameters(11, 3);
  const RiskAndGradient got = exact_risk_and_gradient(problem, law, parameters);
  const double value = average(law, [&](double L) { return exact_risk(problem, L, parameters).value; });
  EXPECT_NEAR(got.risk.value, value, 1e-8 * value);
  EXPECT_LE(std::abs(got.risk.value - value), 2 * got.risk.error);
  const Vector gradient = average(
      law, [&](double L) { return Vector(exact_risk_and_gradient(problem, L, parameters).gradient); });
  EXPECT_LE((got.gradient - gradient).norm(), 1e-7 * gradient.norm());
  const auto over_nodes = [&](const LengthLaw& L) {
    return softmax_risk_over_nodes(problem, L, {.count = 1024}, {})->at(to_vector(parameters)).value;
  };
  EXPECT_NEAR(over_nodes(law), average(law, over_nodes), 1e-9 * value);
  EXPECT_NEAR(regression_risk(problem, AttentionKind::softmax, law, parameters).value, value, 1e-8 * value);
}

// The value and the gradient of batches whose prompts draw their lengths: 2,000 batches, 11 z-scores of which
// the largest is beyond 4.5 with probability 1e-4 for a new seed.
TEST(RandomLengths, BatchesHaveTheRiskAsMean) {
  constexpr double kLargestZ = 4.5;
  constexpr int kBatches = 2000;
  const LengthLaw law({1, 3, 20}, {0.1, 0.6, 0.3});
  const RegressionProblem problem = test::random_problem(5, 2);
  const RegressionParameters parameters = test::random_parameters(5, 2);
  const RiskAndGradient exact = exact_risk_and_gradient(problem, law, parameters);
  RegressionBatches batches{.prompts = 32, .seed = 9};
  batches.random_length = law;
  const auto risk = regression_batches(problem, batches);
  Vector expected(1 + exact.gradient.size());
  expected << exact.risk.value, exact.gradient;
  Vector sum = Vector::Zero(expected.size()), squares = sum, difference = sum;
  for (int k = 0; k < kBatches; ++k) {
    const RiskPoint point = risk->batch(to_vector(parameters), k);
    difference << point.value, point.gradient;
    difference -= expected;
    sum += difference;
    squares += difference.cwiseAbs2();
  }
  for (Eigen::Index i = 0; i < sum.size(); ++i) {
    EXPECT_LE(std::abs(sum[i]), kLargestZ * std::sqrt(squares[i])) << "entry " << i;
  }
}

TEST(RandomLengths, BatchesHaveTheSameBitsForAnyThreads) {
  const RegressionProblem problem = test::random_problem(5, 2);
  const Vector parameters = to_vector(test::random_parameters(5, 2));
  RegressionBatches batches{.prompts = 100, .seed = 3};
  batches.random_length = LengthLaw::uniform(1, 50);
  const RiskPoint one = regression_batches(problem, batches)->batch(parameters, 7);
  batches.execution = {.threads = 3};
  const RiskPoint three = regression_batches(problem, batches)->batch(parameters, 7);
  EXPECT_EQ(one.value, three.value);
  EXPECT_EQ(one.gradient, three.gradient);
  batches.random_length = LengthLaw(2.5);
  EXPECT_THROW(regression_batches(problem, batches), InputError);
}

// 16 seeds, steps so small that their noise is well below its spread over seeds: A and b after training, five
// z-scores. The largest is beyond 4 with probability 3e-4 for a new seed; Student's t with 15 degrees of
// freedom exceeds 4 in 1e-3 of all cases.
TEST(RandomLengths, FlowsEndWhereDescentsEnd) {
  constexpr double kLargestZ = 4;
  constexpr std::int64_t kSeeds = 16;
  TrainingRequest request;
  request.problem = paper_problem(Matrix::Identity(2, 2));
  request.lengths = {LengthLaw::uniform(1, 16)};
  request.methods = {TrainingMethod::flow, TrainingMethod::descent};
  request.steps = 6000;
  request.step_size = 0.01;
  request.batch = 64;
  request.seeds = kSeeds;
  request.evaluate = {4, LengthLaw::uniform(1, 16)};
  const std::vector<TrainingRun> runs = train(make_training_plan(request).plan);
  ASSERT_EQ(std::ssize(runs), 1 + kSeeds);
  const auto ends = [](const TrainingRun& run) {
    Vector all(5);
    all << run.last.U.topLeftCorner(2, 2).reshaped(), run.last.v[2];
    return all;
  };
  Vector mean = Vector::Zero(5), squares = mean;
  for (std::size_t i = 1; i < runs.size(); ++i) mean += ends(runs[i]) / double{kSeeds};
  for (std::size_t i = 1; i < runs.size(); ++i) squares += (ends(runs[i]) - mean).cwiseAbs2();
  const Vector errors = (squares / (kSeeds - 1) / kSeeds).cwiseSqrt();
  const Vector flow = ends(runs[0]);
  for (Eigen::Index i = 0; i < 5; ++i) {
    EXPECT_LE(std::abs(mean[i] - flow[i]), kLargestZ * errors[i]) << "entry " << i;
  }
  for (const TrainingRun& run : runs) {
    EXPECT_EQ(run.L.name(), "uniform:1:16");
    ASSERT_EQ(run.evaluated.size(), 2U);
    EXPECT_DOUBLE_EQ(run.evaluated[1].value, run.final_risk.value);
    EXPECT_EQ(run.evaluated[0].value, regression_risk(request.problem, run.attention, 4, run.last).value);
  }
}

}  // namespace
}  // namespace largo::random_lengths_test
