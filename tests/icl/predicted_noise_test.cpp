// The risk that descents leave above the flow: predicted from the flow's end, against descents.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "icl/round_flow.hpp"
#include "largo/icl/training/training_plan.hpp"

namespace largo::predicted_noise_test {
namespace {

using test::RoundState;

TrainingPlan plan_of(Parametrisation parameters, AttentionKind attention) {
  const bool factored = parameters == Parametrisation::factored;
  TrainingPlan plan = test::round_plan(parameters, 2, 0.2,
                                       factored ? RoundState{{0.9, 0.9, 1, 1}} : RoundState{{0.8, 1, 1, 1}});
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

// The mean of the ends must be within 4 of its standard errors of the prediction (chance exceeds this once in
// 10,000), and their standard deviation within a factor of 2: gradients have long tails, and the prediction
// is of first order in the steps.
void expect_prediction(TrainingPlan plan, int seeds) {
  SCOPED_TRACE(static_cast<int>(plan.parameters));
  const std::vector<TrainingRun> first = train(plan);
  ASSERT_TRUE(first[1].predicted_noise);
  const DescentNoise predicted = *first[1].predicted_noise;
  plan.methods = {TrainingMethod::descent};
  double mean = 0, squares = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    plan.batches.seed = static_cast<std::uint64_t>(seed);
    const double excess = train(plan)[0].final_risk.value - first[0].final_risk.value, change = excess - mean;
    mean += change / seed;
    squares += change * (excess - mean);
  }
  const double variance = squares / (seeds - 1);
  EXPECT_LT(std::abs(mean - predicted.excess), 4 * std::sqrt(variance / seeds)) << predicted.excess;
  EXPECT_LT(std::sqrt(variance), 2 * predicted.spread);
  EXPECT_GT(std::sqrt(variance), predicted.spread / 2);
  EXPECT_GT(mean, 3 * std::sqrt(variance / seeds)) << "there is something to predict";
}

TEST(PredictedNoise, IsThatOfDescents) {
  // With 64 seeds, half or twice the prediction would be 5 standard errors away.
  const bool more = std::getenv("LARGO_LONG_TESTS") != nullptr;
  expect_prediction(plan_of(Parametrisation::merged, AttentionKind::linear), 64);
  expect_prediction(plan_of(Parametrisation::invariant, AttentionKind::softmax), more ? 64 : 8);
  expect_prediction(plan_of(Parametrisation::factored, AttentionKind::softmax), more ? 64 : 8);
}

std::string reason(const TrainingPlan& plan) {
  const TrainingRun run = train(plan)[1];
  EXPECT_NE(run.predicted_noise.has_value(), !run.no_prediction.empty());
  return run.no_prediction;
}

TEST(PredictedNoise, OrWhyThereIsNone) {
  TrainingPlan plan = plan_of(Parametrisation::invariant, AttentionKind::linear);
  EXPECT_EQ(reason(plan), "");
  TrainingPlan other = plan;
  other.descent.step_size = inverse_time_steps(0.01, 5000);
  EXPECT_EQ(reason(other), "steps differ in size");
  other = plan;
  other.flow.end = 1;
  EXPECT_EQ(reason(other), "the flow is shorter");
  other.descent.steps = 50;
  EXPECT_EQ(reason(other), "the flow has not come to rest");
  other = plan;
  other.descent.steps = 3;
  other.descent.step_size = constant_steps(0.7);
  other.descent.divergence_factor = 1e300;
  EXPECT_EQ(reason(other), "steps of that size leave the flow's end");
  other = plan;
  other.descent.optimizer = Optimizer::adam;
  const TrainingRun adam = train(other)[1];
  EXPECT_FALSE(adam.predicted_noise);
  EXPECT_EQ(adam.no_prediction, "");  // nothing is compared
}

TEST(PredictedNoise, EndsWhenStopped) {
  TrainingPlan plan = plan_of(Parametrisation::merged, AttentionKind::linear);
  std::atomic<bool> stop = false;
  plan.progress = [&](double share) { stop = share >= 1; };  // when the descent has ended
  EXPECT_THROW(train(plan, {.stop = &stop}), Stopped);
}

}  // namespace
}  // namespace largo::predicted_noise_test
