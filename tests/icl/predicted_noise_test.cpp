// What descents leave above the flow, as predicted from the flow's end, against descents.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "icl/round_flow.hpp"
#include "largo/icl/regression_training.hpp"

namespace largo {
namespace {

using testing::RoundState;

constexpr int kSeeds = 16;

TrainingPlan plan_of(Parametrisation parameters, AttentionKind attention) {
  const bool factored = parameters == Parametrisation::factored;
  TrainingPlan plan = testing::round_plan(
      parameters, 2, 0.2, factored ? RoundState{{0.9, 0.9, 1, 1}} : RoundState{{0.8, 1, 1, 1}});
  plan.attention = {attention};
  plan.lengths = {50};
  plan.nodes.count = 256;
  plan.flow.end = 20;
  plan.methods = {TrainingMethod::flow, TrainingMethod::descent};
  plan.descent.steps = 1000;
  plan.descent.record_every = 500;
  plan.batches.prompts = 128;
  plan.batches.loss_factor = 1;
  plan.descent.step_size = constant_steps(plan.flow.end / 2 / static_cast<double>(plan.descent.steps));
  return plan;
}

// The mean of 16 ends within 4 of its standard errors of the prediction, and their standard deviation within
// a factor of 2: gradients have long tails, and the prediction is of first order in the steps.
void expect_prediction(TrainingPlan plan) {
  SCOPED_TRACE(static_cast<int>(plan.parameters));
  const std::vector<TrainingRun> first = train(plan);
  ASSERT_TRUE(first[1].predicted_noise);
  const DescentNoise predicted = *first[1].predicted_noise;
  plan.methods = {TrainingMethod::descent};
  double mean = 0, squares = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    plan.batches.seed = static_cast<std::uint64_t>(seed);
    const double excess = train(plan)[0].final_risk.value - first[0].final_risk.value, change = excess - mean;
    mean += change / seed;
    squares += change * (excess - mean);
  }
  const double variance = squares / (kSeeds - 1);
  EXPECT_LT(std::abs(mean - predicted.excess), 4 * std::sqrt(variance / kSeeds)) << predicted.excess;
  EXPECT_LT(std::sqrt(variance), 2 * predicted.spread);
  EXPECT_GT(std::sqrt(variance), predicted.spread / 2);
  EXPECT_GT(mean, 3 * std::sqrt(variance / kSeeds)) << "there is something to predict";
}

TEST(PredictedNoise, IsThatOfDescents) {
  expect_prediction(plan_of(Parametrisation::invariant, AttentionKind::softmax));
  expect_prediction(plan_of(Parametrisation::merged, AttentionKind::linear));
  expect_prediction(plan_of(Parametrisation::factored, AttentionKind::softmax));
}

TEST(PredictedNoise, IsOfPlainStepsOfOneSizeOnly) {
  TrainingPlan plan = plan_of(Parametrisation::invariant, AttentionKind::linear);
  plan.descent.steps = 10;
  EXPECT_TRUE(train(plan)[1].predicted_noise);
  plan.descent.step_size = inverse_time_steps(0.01, 5);
  EXPECT_FALSE(train(plan)[1].predicted_noise);
  plan.descent.step_size = constant_steps(0.01);
  plan.descent.optimiser = Optimiser::adam;
  EXPECT_FALSE(train(plan)[1].predicted_noise);
}

}  // namespace
}  // namespace largo
