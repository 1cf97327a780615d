// Several seeds in one call of train(): each has the runs and the checkpoints that it has alone.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <string>

#include "icl/same_runs.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/runtime/check.hpp"

namespace largo::training_seeds_test {
namespace {

TrainingPlan plan_of(Parametrisation parameters) {
  TrainingPlan plan;
  plan.problem = published_problem(PublishedData::paper, 2);
  plan.parameters = parameters;
  if (parameters == Parametrisation::factored) {
    plan.random_start = [](std::uint64_t seed) { return random_factored_start(2, seed); };
    plan.start = plan.random_start(5);
  } else {
    plan.start = (Vector(5) << 0.3, 0, 0, 0.3, 0.4).finished();
  }
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};
  plan.lengths = {5, 12};
  plan.methods = {TrainingMethod::flow, TrainingMethod::descent};
  plan.flow.end = 1;
  plan.flow.relative_tolerance = 1e-4;
  plan.nodes = {32, 5};
  plan.descent.steps = 20;
  plan.descent.step_size = constant_steps(0.05);
  plan.descent.record_every = 7;
  plan.batches.prompts = 16;
  plan.batches.seed = 5;
  plan.seeds = 3;
  return plan;
}

// The runs of one seed; flows that do not depend on the seed belong to every seed.
std::vector<TrainingRun> of_seed(const TrainingPlan& plan, const std::vector<TrainingRun>& runs,
                                 std::uint64_t seed) {
  std::vector<TrainingRun> some;
  for (TrainingRun run : runs) {
    const bool of_all = run.method == TrainingMethod::flow && plan.parameters == Parametrisation::invariant;
    if (of_all) run.seed = seed;
    if (run.seed == seed) some.push_back(run);
  }
  return some;
}

TEST(TrainingSeeds, EachHasTheRunsItHasAlone) {
  for (const auto parameters : {Parametrisation::invariant, Parametrisation::factored}) {
    const TrainingPlan plan = plan_of(parameters);
    const std::vector<TrainingRun> runs = train(plan);
    EXPECT_EQ(runs.size(), parameters == Parametrisation::invariant ? 16U : 24U);
    std::set<double> risks;
    for (std::int64_t number = 0; number < plan.seeds; ++number) {
      const TrainingPlan alone = plan_of_seed(plan, number);
      EXPECT_EQ(alone.batches.seed, 5U + static_cast<std::uint64_t>(number));
      EXPECT_EQ(alone.nodes.seed, alone.batches.seed);
      EXPECT_EQ(alone.seeds, 1);
      const std::vector<TrainingRun> some = of_seed(plan, runs, alone.batches.seed);
      test::expect_same(some, train(alone));
      risks.insert(some.back().final_risk.value);
    }
    EXPECT_EQ(risks.size(), 3U);
  }
  // A random start is that of its seed.
  const TrainingPlan plan = plan_of(Parametrisation::factored);
  EXPECT_EQ(plan_of_seed(plan, 2).start, random_factored_start(2, 7));
  EXPECT_EQ(plan_of_seed(plan, 0).start, plan.start);
}

TEST(TrainingSeeds, HaveTheCheckpointsOfEachAlone) {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("largo-seeds-" + std::to_string(::getpid()));
  const auto names = [](const std::filesystem::path& in) {
    std::set<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(in)) all.insert(entry.path().filename());
    return all;
  };
  TrainingPlan plan = plan_of(Parametrisation::factored);
  plan.methods = {TrainingMethod::descent};
  const std::vector<TrainingRun> whole = train(plan);
  for (std::int64_t number : {2, 0}) {
    TrainingPlan alone = plan_of_seed(plan, number);
    alone.checkpoints = folder / "alone";
    train(alone);
  }
  EXPECT_EQ(names(folder / "alone").size(), 8U);
  plan.checkpoints = folder / "alone";
  double first = -1;
  plan.progress = [&](double share) { first = first < 0 ? share : first; };
  test::expect_same(train(plan, {.threads = 1}), whole);
  EXPECT_EQ(names(folder / "alone").size(), 12U);
  EXPECT_GT(first, 0.05);  // a run that was done is read, and counts as done
  plan.checkpoints = folder / "together";
  train(plan);
  EXPECT_EQ(names(folder / "alone"), names(folder / "together"));
  std::filesystem::remove_all(folder);
}

TEST(TrainingSeeds, AreAtLeastOneAndHaveAnEnd) {
  TrainingPlan plan = plan_of(Parametrisation::invariant);
  for (const std::int64_t seeds : {std::int64_t{0}, std::int64_t{-1}, kMostSeeds + 1}) {
    plan.seeds = seeds;
    EXPECT_THROW(train(plan), InputError);
  }
  plan.seeds = 2;
  plan.batches.seed = ~std::uint64_t{0};
  EXPECT_THROW(train(plan), InputError);
}

}  // namespace
}  // namespace largo::training_seeds_test
