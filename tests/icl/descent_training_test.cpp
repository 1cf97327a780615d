// Descents of train(): what a step does, how they compare with flows, and that the plan alone decides their
// bits, whatever the threads and whether they were stopped on the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <string>

#include "icl/round_flow.hpp"
#include "icl/same_runs.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/check.hpp"

namespace largo::descent_training_test {
namespace {

using test::expect_same;
using test::kInfinity;
using test::RoundFlow;
using test::RoundKind;
using test::RoundState;

constexpr int kDimension = 3;
constexpr double kNoise = 0.2;
// A mean of 32 runs is beyond 5 of the standard errors estimated from them once in 50,000 times; there are
// 202 numbers, of which a third vary.
constexpr int kSeeds = 32;
constexpr double kLargestT = 5;

TrainingPlan plan_of(Parametrisation parameters) {
  const bool factored = parameters == Parametrisation::factored;
  TrainingPlan plan =
      test::round_plan(parameters, kDimension, kNoise,
                       factored ? RoundState{{0.5, 0.8, -0.7, -0.9}} : RoundState{{0.5, 1, 0.8, 1}});
  plan.flow.end = 0.5;
  plan.lengths = {10};
  plan.methods = {TrainingMethod::descent};
  plan.descent.step_size = constant_steps(0.01);
  plan.descent.steps = 50;
  plan.descent.record_every = 5;
  plan.batches.prompts = 32;
  return plan;
}

// The slope at the start, in the layout of the start: the start of a plan whose numbers are the slopes in a,
// b or k, q, m, n. (The other slopes are zero, because the risk is even there.)
Vector slope_at_start(const TrainingPlan& plan, AttentionKind attention, double L) {
  const auto risk = test::round_risk(attention, kDimension, kNoise, L);
  if (plan.parameters == Parametrisation::factored) {
    const double k = 0.5, q = 0.8, m = -0.7, n = -0.9;
    const auto g = risk(k * q, m * n);
    const RoundState slopes{
        {q * g.slope_a / kDimension, k * g.slope_a / kDimension, n * g.slope_b, m * g.slope_b}};
    return test::round_plan(plan.parameters, kDimension, kNoise, slopes).start;
  }
  const auto g = risk(0.5, 0.8);
  return test::round_plan(plan.parameters, kDimension, kNoise, {{g.slope_a / kDimension, 1, g.slope_b, 1}})
      .start;
}

void expect_first_step(TrainingPlan plan, AttentionKind attention, double L, double loss_factor) {
  constexpr double kStep = 0.1;
  plan.attention = {attention};
  plan.lengths = {L};
  plan.descent.steps = 1;
  plan.descent.step_size = constant_steps(kStep);
  plan.batches.prompts = 256;
  plan.batches.loss_factor = loss_factor;
  plan.flow.end = 0.01;
  plan.nodes.count = 8;
  Vector mean = Vector::Zero(plan.start.size()), squares = mean;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    plan.batches.seed = static_cast<std::uint64_t>(seed);
    const TrainingRun run = train(plan).front();
    ASSERT_EQ(run.path.points().size(), 2U);
    EXPECT_EQ(run.steps, 1);
    EXPECT_DOUBLE_EQ(run.path.end(), 2 * loss_factor * kStep);  // time of the flow on half the squared error
    const Vector change = run.path.points().back().parameters - mean;
    mean += change / seed;
    squares += change.cwiseProduct(run.path.points().back().parameters - mean);
  }
  const Vector expected = plan.start - 2 * loss_factor * kStep * slope_at_start(plan, attention, L);
  int varied = 0;
  for (Eigen::Index i = 0; i < mean.size(); ++i) {
    const double error = std::sqrt(squares[i] / (kSeeds * (kSeeds - 1.0)));
    EXPECT_NEAR(mean[i], expected[i], kLargestT * error + 1e-15) << "number " << i;
    EXPECT_LT(error, 0.03);
    if (error > 0) ++varied;
  }
  EXPECT_GE(varied, kDimension * kDimension + 1);
}

TEST(DescentTraining, AStepIsTheSlopeOnAverage) {
  const TrainingPlan invariant = plan_of(Parametrisation::invariant);
  expect_first_step(invariant, AttentionKind::softmax, 20, 0.5);
  expect_first_step(invariant, AttentionKind::linear, 2, 1);
  expect_first_step(plan_of(Parametrisation::merged), AttentionKind::linear, 6, 0.5);
  expect_first_step(plan_of(Parametrisation::factored), AttentionKind::linear, 6, 1);
}

// ½ [b² ((1 + 1/L) + (d + τ²)/L) ‖A‖² - 2b tr A + d]: linear attention, all covariances I.
double linear_risk(const RegressionParameters& at, double L) {
  const Matrix A = at.U.topLeftCorner(kDimension, kDimension);
  const double b = at.v[kDimension], c = 1 + (kDimension + 1 + kNoise) / L;
  return (b * b * c * A.squaredNorm() - 2 * b * A.trace() + kDimension) / 2;
}

TEST(DescentTraining, BesideTheFlow) {
  constexpr double L = 10;
  TrainingPlan plan = plan_of(Parametrisation::invariant);
  plan.attention = {AttentionKind::linear};
  plan.lengths = {L, kInfinity};
  plan.methods = {TrainingMethod::descent, TrainingMethod::flow};
  const std::vector<TrainingRun> runs = train(plan);
  ASSERT_EQ(runs.size(), 3U);  // an infinite prompt cannot be drawn
  const TrainingRun& run = runs[0];
  EXPECT_EQ(run.method, TrainingMethod::descent);
  EXPECT_EQ(runs[1].method, TrainingMethod::flow);
  EXPECT_EQ(runs[2].L, kInfinity);
  EXPECT_EQ(run.path.points().size(), 11U);
  EXPECT_NEAR(run.final_risk.value, linear_risk(run.last, L), 1e-13);
  const auto point_at = [&](double t) { return to_parameters(run.map->map(run.path.at(t)), kDimension); };
  const auto flow_of = [&](double length) {
    return RoundFlow(test::round_linear_risk(kDimension, kNoise, length), kDimension, RoundKind::merged,
                     {{0.5, 1, 0.8, 1}}, plan.flow.end);
  };
  const auto expect_distance = [&](const TrajectoryDistance& found, double length) {
    const RoundState flow = flow_of(length).at(found.time);
    RegressionParameters away = point_at(found.time);
    away.U.topLeftCorner(kDimension, kDimension).diagonal().array() -= flow.a();
    away.v[kDimension] -= flow.b();
    EXPECT_NEAR(found.value, std::hypot(away.U.norm(), away.v.norm()), 1e-7);
    EXPECT_GT(found.value, 0);
  };
  ASSERT_TRUE(run.to_flow && run.to_limit_flow && run.noise);
  expect_distance(run.to_flow->parameters, L);
  expect_distance(run.to_limit_flow->parameters, kInfinity);
  // The last fifth: t = 0.4, 0.45 and 0.5.
  const RoundFlow flow = flow_of(L);
  double excess[3], mean = 0, squares = 0;
  for (int i = 0; i < 3; ++i) {
    const double t = 0.4 + 0.05 * i;
    const RoundState there = flow.at(t);
    excess[i] = linear_risk(point_at(t), L) - flow.risk()(there.a(), there.b()).value;
    mean += excess[i] / 3;
  }
  for (const double one : excess) squares += (one - mean) * (one - mean);
  EXPECT_NEAR(run.noise->excess, mean, 1e-7);
  EXPECT_NEAR(run.noise->spread, std::sqrt(squares / 2), 1e-7);
  EXPECT_GT(run.noise->spread, 1e-4);

  plan.descent.optimizer = Optimizer::adam;  // adam runs on another clock
  const TrainingRun adam = train(plan).front();
  EXPECT_FALSE(adam.to_flow || adam.to_limit_flow || adam.noise);
}

TEST(DescentTraining, TheSameForAnyThreads) {
  for (const auto kind : {Parametrisation::invariant, Parametrisation::factored}) {
    TrainingPlan plan = plan_of(kind);
    plan.methods = {TrainingMethod::flow, TrainingMethod::descent};
    plan.attention = {AttentionKind::softmax, AttentionKind::linear};
    plan.lengths = {10, 7};
    plan.nodes.count = 32;
    plan.flow.relative_tolerance = 1e-4;
    plan.descent.steps = 10;
    const std::vector<TrainingRun> runs = train(plan, {.threads = 1});
    expect_same(runs, train(plan, {.threads = 2}));
    plan.batches.seed = 2;
    const std::vector<TrainingRun> others = train(plan, {.threads = 2});
    EXPECT_EQ(others[0].last.U, runs[0].last.U);
    EXPECT_NE(others[4].last.U, runs[4].last.U);
  }
}

TEST(DescentTraining, ProgressGoesForward) {
  for (const int threads : {1, 2}) {
    TrainingPlan plan = plan_of(Parametrisation::invariant);
    plan.lengths = {4, 40, 400, kInfinity};
    std::vector<double> shares;
    plan.progress = [&](double share) { shares.push_back(share); };
    train(plan, {.threads = threads});
    ASSERT_GE(shares.size(), 30U);
    EXPECT_GT(shares.front(), 0);
    EXPECT_LT(shares.front(), 0.1);
    for (std::size_t i = 1; i < shares.size(); ++i) EXPECT_GE(shares[i], shares[i - 1] - 1e-12);
    EXPECT_NEAR(shares.back(), 1, 1e-9);
  }
}

class Checkpoints : public ::testing::Test {
 protected:
  Checkpoints() : plan(plan_of(Parametrisation::invariant)) {
    folder = std::filesystem::path(::testing::TempDir()) /
             ("largo-checkpoints-" + std::to_string(::getpid())) / "made";
    plan.methods = {TrainingMethod::flow, TrainingMethod::descent};
    plan.attention = {AttentionKind::softmax, AttentionKind::linear};
    plan.descent.optimizer = Optimizer::momentum;
    plan.descent.step_size = cosine_steps(0.005, 20);
    plan.descent.steps = 20;
    plan.descent.record_every = 7;  // so that a stop is between two records
  }
  ~Checkpoints() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder.parent_path(), ignored);
  }

  // Trains up to about this share of all descents, and stops.
  void interrupt(double share) {
    std::atomic<bool> stop = false;
    plan.progress = [&](double done) { stop = stop || done >= share; };
    EXPECT_THROW(train(plan, {.threads = 1, .stop = &stop}), Stopped);
    plan.progress = {};
  }

  std::size_t files() const {
    const std::filesystem::directory_iterator first(folder), end;
    return static_cast<std::size_t>(std::distance(first, end));
  }

  std::filesystem::path folder;
  TrainingPlan plan;
};

TEST_F(Checkpoints, GoOnToTheSameBits) {
  const std::vector<TrainingRun> whole = train(plan);
  plan.checkpoints = folder;
  interrupt(0.3);  // within the first descent
  EXPECT_EQ(files(), 1U);
  interrupt(0.7);  // within the second
  EXPECT_EQ(files(), 2U);
  double first = -1;
  plan.progress = [&](double share) { first = first < 0 ? share : first; };
  expect_same(train(plan), whole);
  EXPECT_GE(first, 0.5);  // one descent was done
  EXPECT_EQ(files(), 2U);
  first = -1;
  expect_same(train(plan), whole);      // now from their ends
  EXPECT_DOUBLE_EQ(first, 90.0 / 170);  // a prompt costs 80 tokens, and softmax attention its ten tokens more
}

TEST_F(Checkpoints, AreOfOneSetting) {
  plan.checkpoints = folder;
  interrupt(0.3);
  plan.batches.seed = 2;
  TrainingPlan apart = plan;
  apart.checkpoints.clear();
  expect_same(train(plan), train(apart));
  EXPECT_EQ(files(), 3U);  // the one that was left, and two new ones
}

// All four descents have states of the same shapes.
TEST_F(Checkpoints, OfAnotherRunAreRefused) {
  plan.checkpoints = folder;
  train(plan);
  plan.batches.seed = 2;
  train(plan);
  std::vector<std::filesystem::path> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) all.push_back(entry.path());
  ASSERT_EQ(all.size(), 4U);
  for (const auto& file : all) {
    const std::filesystem::path kept = folder.parent_path() / "kept";
    std::filesystem::copy_file(file, kept);
    for (const auto& other : all) {
      if (other == file) continue;
      std::filesystem::copy_file(other, file, std::filesystem::copy_options::overwrite_existing);
      std::string message;
      for (const std::uint64_t seed : {1, 2}) {  // one of the two has this file
        plan.batches.seed = seed;
        try {
          train(plan);
        } catch (const InputError& error) {
          message = error.what();
        }
      }
      EXPECT_NE(message.find("another run"), std::string::npos) << message;
    }
    std::filesystem::rename(kept, file);
  }
}

TEST_F(Checkpoints, BadFoldersAndFiles) {
  std::filesystem::create_directories(folder.parent_path());
  std::FILE* file = std::fopen(folder.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fclose(file);
  plan.checkpoints = folder;
  EXPECT_THROW(train(plan), InputError);
  plan.checkpoints = folder / "below";
  EXPECT_THROW(train(plan), InputError);
  std::filesystem::remove(folder);
  plan.checkpoints = folder;
  interrupt(0.3);
  std::filesystem::resize_file(std::filesystem::directory_iterator(folder)->path(), 100);
  EXPECT_THROW(train(plan), InputError);  // half a file is not the state of a descent
}

}  // namespace
}  // namespace largo::descent_training_test
