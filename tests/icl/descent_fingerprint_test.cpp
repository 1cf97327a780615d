#include "icl/training/fingerprint.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "icl/regression_settings.hpp"

namespace largo::descent_fingerprint_test {
namespace {

TrainingPlan plan_of() {
  TrainingPlan plan;
  plan.problem = test::random_problem(1, 2);
  plan.start = test::random_invariant(1, 2);
  plan.lengths = {10};
  plan.methods = {TrainingMethod::descent};
  plan.descent.step_size = constant_steps(0.01);
  return plan;
}

std::uint64_t fingerprint(const TrainingPlan& plan) {
  return icl::descent_fingerprint(plan, AttentionKind::softmax, 10);
}

TEST(DescentFingerprint, OfAllThatDecidesTheCourse) {
  const std::function<void(TrainingPlan&)> changes[] = {
      [](TrainingPlan&) {},
      [](TrainingPlan& plan) { plan.problem.covariance(0, 0) += 1e-12; },
      [](TrainingPlan& plan) { plan.problem.query_covariance(1, 1) += 1e-12; },
      [](TrainingPlan& plan) { plan.problem.prior_covariance(0, 1) += 1e-12; },
      [](TrainingPlan& plan) { plan.problem.noise_variance += 0.01; },
      [](TrainingPlan& plan) { plan.problem.score_scale += 0.01; },
      [](TrainingPlan& plan) { plan.start[2] += 1e-12; },
      [](TrainingPlan& plan) { plan.parameters = Parametrisation::merged; },
      [](TrainingPlan& plan) { plan.descent.step_size = constant_steps(0.02); },
      [](TrainingPlan& plan) { plan.descent.step_size = cosine_steps(0.01, 1000); },
      [](TrainingPlan& plan) { plan.descent.step_size = cosine_steps(0.01, 1001); },
      [](TrainingPlan& plan) { plan.descent.steps = 1001; },
      [](TrainingPlan& plan) { plan.descent.record_every = 5; },
      [](TrainingPlan& plan) { plan.descent.optimizer = Optimizer::momentum; },
      [](TrainingPlan& plan) { plan.descent.optimizer = Optimizer::adam; },
      [](TrainingPlan& plan) { plan.descent.momentum = 0.8; },
      [](TrainingPlan& plan) { plan.descent.squares = 0.99; },
      [](TrainingPlan& plan) { plan.descent.epsilon = 1e-7; },
      [](TrainingPlan& plan) { plan.batches.seed = 2; },
      [](TrainingPlan& plan) { plan.batches.seed = std::uint64_t{1} << 63; },
      [](TrainingPlan& plan) { plan.batches.prompts = 64; },
      [](TrainingPlan& plan) { plan.batches.kernel = PromptKernel::full; },
      [](TrainingPlan& plan) { plan.batches.loss_factor = 1; },
  };
  std::set<std::uint64_t> seen;
  for (const auto& change : changes) {
    TrainingPlan plan = plan_of();
    change(plan);
    seen.insert(fingerprint(plan));
  }
  EXPECT_EQ(seen.size(), std::size(changes));
  seen.insert(icl::descent_fingerprint(plan_of(), AttentionKind::linear, 10));
  seen.insert(icl::descent_fingerprint(plan_of(), AttentionKind::softmax, 11));
  EXPECT_EQ(seen.size(), std::size(changes) + 2);
}

TEST(DescentFingerprint, OfNothingElse) {
  const std::uint64_t expected = fingerprint(plan_of());
  TrainingPlan plan = plan_of();
  plan.lengths = {10, 20};
  plan.attention = {AttentionKind::linear, AttentionKind::softmax};
  plan.methods = {TrainingMethod::flow, TrainingMethod::descent};
  plan.flow.end = 3;
  plan.nodes.count = 8;
  plan.checkpoints = "elsewhere";
  plan.progress = [](double) {};
  plan.batches.length = 77;  // each run has its own
  plan.batches.execution.threads = 4;
  plan.descent.checkpoint_every = 7;
  EXPECT_EQ(fingerprint(plan), expected);
}

}  // namespace
}  // namespace largo::descent_fingerprint_test
