// When one run of a training plan fails, the others end with it and save what they have.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "largo/icl/named_problem.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/check.hpp"

namespace largo::training_failure_test {
namespace {

TrainingPlan endless_plan() {
  TrainingPlan plan;
  plan.problem = published_problem(PublishedData::paper, 2);
  plan.start = (Vector(5) << 0.3, 0, 0, 0.3, 0.4).finished();
  plan.lengths = {3};
  plan.methods = {TrainingMethod::descent};
  plan.flow.end = 1;
  plan.descent.steps = std::int64_t{1} << 40;
  plan.batches.prompts = 2;
  plan.descent.step_size = constant_steps(0.8);
  return plan;
}

TEST(FailedTraining, EndsTheOtherThreadsWhichSaveTheirRuns) {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("largo-failure-" + std::to_string(::getpid()));
  TrainingPlan plan = endless_plan();
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};  // linear attention diverges
  plan.checkpoints = folder;
  try {
    train(plan, {.threads = 2});
    FAIL() << "did not diverge";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("linear attention, L = 3"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("diverged at step"), std::string::npos) << error.what();
  }
  int saved = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(entry.path().filename().string().find("softmax-L3-"), 0U);
    EXPECT_GT(load_descent(entry.path()).step, 0);
    ++saved;
  }
  EXPECT_EQ(saved, 1);
  std::filesystem::remove_all(folder);
}

// Longer prompts are begun first.
TEST(FailedTraining, BeginsNoMoreRuns) {
  TrainingPlan plan = endless_plan();
  plan.attention = {AttentionKind::linear};
  plan.lengths = {2, 3};
  try {
    train(plan, {.threads = 1});
    FAIL() << "did not diverge";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("linear attention, L = 3"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace largo::training_failure_test
