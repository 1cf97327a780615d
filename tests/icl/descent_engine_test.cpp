// Training with a device: the device is given every descent, and the results are those without it.
#include "icl/training/descent_engine.hpp"

#include <gtest/gtest.h>

#include "icl/same_runs.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/check.hpp"
#include "support/fake_device.hpp"

namespace largo::descent_engine_test {
namespace {

class CpuDescents final : public icl::DescentEngine {
 public:
  void descend(const RegressionProblem& problem, Parametrisation parameters, const DescentOptions& options,
               std::vector<icl::RegressionDescent>& runs) const override {
    EXPECT_EQ(parameters, Parametrisation::invariant);
    ++calls;
    for (icl::RegressionDescent& run : runs) {
      ++count;
      const auto risk =
          in_parameters(regression_batches(problem, run.batches), invariant_map(problem.dimension()));
      try {
        run.state = largo::descend(*risk, run.state, options);
      } catch (...) {
        run.error = std::current_exception();
        return;
      }
    }
  }
  mutable int calls = 0, count = 0;
};

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
  CpuDescents engine;
  const FakeDevice device({&engine});
  const std::vector<TrainingRun> without = train(plan), with = train(plan, {.device = &device});
  EXPECT_EQ(engine.count, 4);
  test::expect_same(without, with);
}

TEST(DescentEngines, PassOnWhyARunEnded) {
  CpuDescents engine;
  const FakeDevice device({&engine});
  try {
    train(plan_of(500), {.device = &device});
    FAIL() << "did not diverge";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("softmax attention, L = 5"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("diverged at step"), std::string::npos) << error.what();
  }
  EXPECT_EQ(engine.count, 1) << "the others ended with it";
}

TEST(DescentEngines, HaveAllSeedsInOneCall) {
  TrainingPlan plan = plan_of(0.05);
  plan.seeds = 3;
  CpuDescents engine;
  const FakeDevice device({&engine});
  test::expect_same(train(plan, {.device = &device}), train(plan));
  EXPECT_EQ(engine.calls, 1);
  EXPECT_EQ(engine.count, 12);
}

}  // namespace
}  // namespace largo::descent_engine_test
