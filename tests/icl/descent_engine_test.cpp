// Training with a device: the device is given every descent, and the results are those without it.
#include "icl/training/descent_engine.hpp"

#include <gtest/gtest.h>

#include "icl/cpu_descents.hpp"
#include "icl/same_runs.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "support/fake_device.hpp"
#include "support/fixtures.hpp"

namespace largo::descent_engine_test {
namespace {

TrainingPlan plan_of(double step_size) {
  TrainingPlan plan;
  plan.problem = paper_problem(Matrix::Identity(2, 2));
  plan.start = (Vector(5) << 0.3, 0, 0, 0.3, 0.4).finished();
  plan.lengths = {5, 20};
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};
  plan.methods = {TrainingMethod::descent};
  plan.descent.steps = 40;
  plan.descent.step_size = constant_steps(step_size);
  plan.descent.record_every = 7;
  plan.batches.prompts = 16;
  plan.flow.end = 1;
  return plan;
}

TEST(DescentEngines, LeaveResultsAsTheyAre) {
  const TrainingPlan plan = plan_of(0.05);
  test::CpuDescents engine;
  const FakeDevice device({&engine});
  const std::vector<TrainingRun> without = train(plan), with = train(plan, {.device = &device});
  EXPECT_EQ(engine.count, 4);
  test::expect_same(without, with);
}

TEST(DescentEngines, PassOnWhyARunEnded) {
  test::CpuDescents engine;
  const FakeDevice device({&engine});
  test::expect_contains(test::message_of([&] { train(plan_of(500), {.device = &device}); }),
                        {"softmax attention, L = 5", "diverged at step"});
  EXPECT_EQ(engine.count, 1) << "the others ended with it";
}

TEST(DescentEngines, HaveAllSeedsInOneCall) {
  TrainingPlan plan = plan_of(0.05);
  plan.seeds = 3;
  test::CpuDescents engine;
  const FakeDevice device({&engine});
  test::expect_same(train(plan, {.device = &device}), train(plan));
  EXPECT_EQ(engine.calls, 1);
  EXPECT_EQ(engine.count, 12);
}

}  // namespace
}  // namespace largo::descent_engine_test
