// Training shared among processes: each makes some runs, and all get the results, with one process's bits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <thread>

#include "icl/cpu_descents.hpp"
#include "icl/same_runs.hpp"
#include "icl/training/training_state.hpp"
#include "largo/icl/named_problem.hpp"
#include "support/fake_device.hpp"
#include "support/fixtures.hpp"
#include "support/thread_ranks.hpp"

namespace largo::training_ranks_test {
namespace {

TrainingPlan plan_of(Parametrisation parameters, double step_size = 0.05) {
  TrainingPlan plan;
  plan.problem = published_problem(PublishedData::paper, 2);
  plan.parameters = parameters;
  plan.start = parameters == Parametrisation::factored ? random_factored_start(2, 5)
                                                       : (Vector(5) << 0.3, 0, 0, 0.3, 0.4).finished();
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};
  plan.lengths = {5, std::numeric_limits<double>::infinity(), 12};
  plan.methods = {TrainingMethod::descent, TrainingMethod::flow};
  plan.flow.end = 1;
  plan.flow.relative_tolerance = 1e-4;
  plan.nodes = {32, 5};
  plan.descent.steps = 20;
  plan.descent.step_size = constant_steps(step_size);
  plan.descent.record_every = 7;
  plan.batches.prompts = 16;
  plan.batches.seed = 5;
  plan.seeds = 2;
  return plan;
}

void expect_no_error(const std::vector<std::exception_ptr>& thrown) {
  for (const std::exception_ptr& error : thrown) EXPECT_EQ(error, nullptr);
}

TEST(TrainingRanks, HaveTheBitsOfOneProcess) {
  for (const auto parameters : {Parametrisation::invariant, Parametrisation::factored}) {
    const TrainingPlan plan = plan_of(parameters);
    const std::vector<TrainingRun> alone = train(plan);
    for (const int size : {1, 2, 3, 30}) {  // 30 is more than there are runs
      if (size == 30 && parameters == Parametrisation::factored) continue;
      expect_no_error(test::run_on(size, [&](const Ranks& ranks) {
        test::expect_same(alone, train(plan, {.threads = 1, .ranks = &ranks}));
      }));
    }
  }
}

TEST(TrainingRanks, EachHasADeviceOfItsOwn) {
  const TrainingPlan plan = plan_of(Parametrisation::invariant);  // with eight descents
  const std::vector<TrainingRun> alone = train(plan);
  expect_no_error(test::run_on(3, [&](const Ranks& ranks) {
    test::CpuDescents engine;
    const FakeDevice device({&engine});
    test::expect_same(alone, train(plan, {.threads = 1, .ranks = &ranks, .device = &device}));
    EXPECT_EQ(engine.calls, 1);
    EXPECT_GE(engine.count, 2);
    EXPECT_LE(engine.count, 3);
  }));
}

TEST(TrainingRanks, HaveEvenShares) {
  TrainingPlan plan = plan_of(Parametrisation::factored);
  const std::vector<double> lengths = published_lengths();
  plan.lengths.assign(lengths.begin(), lengths.end());
  plan.seeds = 8;
  const std::vector<icl::TrainingState> states = icl::states_of(plan);
  for (const int size : {2, 3, 8}) {
    test::run_on(size, [&](const Ranks& ranks) {
      const std::vector<int> owners = icl::owners_of(states, {.ranks = &ranks});
      std::vector<double> costs(static_cast<std::size_t>(size)), flows = costs;
      for (std::size_t i = 0; i < states.size(); ++i) {
        (states[i].method == TrainingMethod::flow ? flows : costs)[static_cast<std::size_t>(owners[i])] +=
            states[i].method == TrainingMethod::flow ? 1 : cost_of(states[i]);
      }
      const auto [low, high] = std::minmax_element(costs.begin(), costs.end());
      EXPECT_LT(*high, 1.02 * *low);
      const auto [few, many] = std::minmax_element(flows.begin(), flows.end());
      EXPECT_LE(*many, *few + 1);
    });
  }
}

TEST(TrainingRanks, OneThatDivergesEndsAll) {
  // Each process has one seed of many steps, and the softmax run of one process leaves all bounds.
  TrainingPlan plan = plan_of(Parametrisation::invariant);
  plan.lengths = {5};
  plan.methods = {TrainingMethod::descent};
  plan.attention = {AttentionKind::softmax};
  plan.descent.steps = std::int64_t{1} << 40;
  plan.descent.record_every = 0;
  std::atomic<int> own = 0, echoes = 0;
  const auto thrown = test::run_on(2, [&](const Ranks& ranks) {
    TrainingPlan mine = plan;
    // The step sizes agree where plans are compared, but not at step 40 of one process.
    const bool diverges = ranks.rank() == 1;
    mine.descent.step_size = [diverges](std::int64_t k) { return diverges && k == 40 ? 1e9 : 0.01; };
    train(mine, {.threads = 1, .ranks = &ranks});
  });
  for (const std::exception_ptr& error : thrown) {
    ASSERT_NE(error, nullptr);
    try {
      test::expect_contains(test::message_of([&] { std::rethrow_exception(error); }), {"diverged at step"});
      ++own;
    } catch (const OtherProcessFailed&) {
      ++echoes;
    }
  }
  EXPECT_EQ(own, 1);
  EXPECT_EQ(echoes, 1);
}

TEST(TrainingRanks, AStopOfOneEndsAllAndSavesWhatEachHas) {
  const auto folder =
      std::filesystem::path(::testing::TempDir()) / ("largo-ranks-" + std::to_string(::getpid()));
  TrainingPlan plan = plan_of(Parametrisation::invariant);
  plan.methods = {TrainingMethod::descent};
  plan.lengths = {40};
  plan.seeds = 1;
  plan.descent.steps = 20000;
  const std::vector<TrainingRun> whole = train(plan);
  plan.checkpoints = folder;
  std::atomic<bool> stop = false;
  const auto thrown = test::run_on(2, [&](const Ranks& ranks) {
    TrainingPlan mine = plan;
    // Processes meet ten times a second: steps take so long that the stop comes before the last one.
    mine.descent.step_size = [&](std::int64_t k) {
      if (k > 1000) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return plan.descent.step_size(k);
    };
    mine.progress = [&](double share) {
      EXPECT_EQ(ranks.rank(), 0);
      stop = stop || share > 0;
    };
    train(mine, {.threads = 1, .ranks = &ranks, .stop = ranks.rank() == 0 ? &stop : nullptr});
  });
  int ended = 0;
  for (const std::exception_ptr& error : thrown) ended += error != nullptr ? 1 : 0;
  EXPECT_EQ(ended, 2);
  // Each process saved its run, and another number of processes resumes them.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
  expect_no_error(test::run_on(3, [&](const Ranks& ranks) {
    test::expect_same(whole, train(plan, {.threads = 1, .ranks = &ranks}));
  }));
  std::filesystem::remove_all(folder);
}

TEST(TrainingRanks, MustHaveTheSamePlan) {
  const auto random_start = [](double shift) {
    return [shift](std::uint64_t seed) -> Vector {
      return Vector::Constant(5, 0.1 * static_cast<double>(seed) + shift);
    };
  };
  const std::function<void(TrainingPlan&)> changes[] = {
      [](TrainingPlan& plan) { plan.problem.noise_variance += 0.5; },
      [](TrainingPlan& plan) { plan.problem.score_scale += 0.5; },
      [](TrainingPlan& plan) { plan.problem.covariance *= 2; },
      [](TrainingPlan& plan) { plan.problem.query_covariance *= 2; },
      [](TrainingPlan& plan) { plan.problem.prior_covariance *= 2; },
      [](TrainingPlan& plan) { plan.start[4] += 1e-12; },
      [](TrainingPlan& plan) { plan.parameters = Parametrisation::merged, plan.start = Vector::Ones(12); },
      [](TrainingPlan& plan) {
        plan.attention = {AttentionKind::linear, AttentionKind::softmax};
      },
      [](TrainingPlan& plan) { plan.attention = {AttentionKind::linear}; },
      [](TrainingPlan& plan) {
        plan.methods = {TrainingMethod::flow, TrainingMethod::flow};
      },
      [](TrainingPlan& plan) { plan.lengths.back() = plan.lengths.back().longest() + 1; },
      [](TrainingPlan& plan) { plan.flow.end = 2; },
      [](TrainingPlan& plan) { plan.flow.method = FlowMethod::krylov; },
      [](TrainingPlan& plan) { plan.flow.relative_tolerance = 1e-5; },
      [](TrainingPlan& plan) { plan.flow.absolute_tolerance = 1e-5; },
      [](TrainingPlan& plan) { plan.flow.stationary_tolerance = 1e-5; },
      [](TrainingPlan& plan) { plan.flow.most_steps = 19999; },
      [](TrainingPlan& plan) { plan.nodes.count = 64; },
      [](TrainingPlan& plan) { plan.nodes.seed = 6; },
      [](TrainingPlan& plan) { plan.batches.seed = 6; },
      [](TrainingPlan& plan) { plan.seeds = 3; },
      [&](TrainingPlan& plan) { plan.random_start = random_start(0.1); },
      // Changes that concern descents alone.
      [](TrainingPlan& plan) { plan.descent.steps = 21; },
      [](TrainingPlan& plan) { plan.descent.step_size = constant_steps(0.04); },
      [](TrainingPlan& plan) { plan.descent.divergence_factor = 1e5; },
      [](TrainingPlan& plan) { plan.batches.prompts = 17; },
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    SCOPED_TRACE(i);
    const bool descents = i >= std::size(changes) - 4;
    const auto thrown = test::run_on(3, [&](const Ranks& ranks) {
      TrainingPlan plan = plan_of(Parametrisation::invariant);
      plan.methods = {descents ? TrainingMethod::descent : TrainingMethod::flow};
      plan.random_start = random_start(0);
      if (ranks.rank() == 2) changes[i](plan);
      train(plan, {.threads = 1, .ranks = &ranks});
    });
    for (const std::exception_ptr& error : thrown) {
      ASSERT_NE(error, nullptr);
      test::expect_contains(test::message_of([&] { std::rethrow_exception(error); }), {"different plans"});
    }
  }
}

}  // namespace
}  // namespace largo::training_ranks_test
