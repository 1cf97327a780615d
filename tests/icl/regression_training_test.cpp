// Flows of train() against flows of two or four numbers.
#include "largo/icl/training/training_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <string>

#include "icl/round_flow.hpp"
#include "largo/runtime/check.hpp"

namespace largo::regression_training_test {
namespace {

using test::kInfinity;
using test::RoundFlow;
using test::RoundKind;
using test::RoundState;

constexpr int kDimension = 3;
constexpr double kNoise = 0.2, kEnd = 2;
// Flows have an error of 1e-9 per step, and the Runge-Kutta reference one of 1e-8.
constexpr double kFlow = 1e-7;
// Suprema are taken over the steps of the integrator, which are short where paths turn.
constexpr double kMissed = 0.02;

constexpr RoundState kStart{{0.5, 1, 0.8, 1}};           // a and b
constexpr RoundState kFactored{{0.5, 0.8, -0.7, -0.9}};  // k, q, m, n

RoundFlow flow_of(AttentionKind attention, double L, Parametrisation parameters) {
  const bool factored = parameters == Parametrisation::factored;
  return {test::round_risk(attention, kDimension, kNoise, L), kDimension,
          factored ? RoundKind::factored : RoundKind::merged, factored ? kFactored : kStart, kEnd};
}

TrainingPlan plan_of(Parametrisation parameters) {
  TrainingPlan plan = test::round_plan(parameters, kDimension, kNoise,
                                       parameters == Parametrisation::factored ? kFactored : kStart);
  plan.flow.end = kEnd;
  return plan;
}

double apart(const RoundState& p, const RoundState& q) {
  return std::hypot(std::sqrt(kDimension) * (p.a() - q.a()), p.b() - q.b());
}

// Expects (aI, b), and zeros elsewhere.
void expect_at(const RegressionParameters& point, const RoundState& state, double tolerance) {
  RegressionParameters expected{Matrix::Zero(kDimension + 1, kDimension + 1), Vector::Zero(kDimension + 1)};
  expected.U.topLeftCorner(kDimension, kDimension).diagonal().setConstant(state.a());
  expected.v[kDimension] = state.b();
  EXPECT_LE((point.U - expected.U).norm() + (point.v - expected.v).norm(), tolerance);
}

void expect_supremum(const TrajectoryDistance& found, const std::function<double(double)>& distance) {
  double largest = 0;
  for (int i = 0; i <= 1000; ++i) largest = std::max(largest, distance(i * kEnd / 1000));
  EXPECT_NEAR(found.value, distance(found.time), kFlow);
  EXPECT_LE(found.value, largest + kFlow + 1e-5 * largest);
  EXPECT_GE(found.value, (1 - kMissed) * largest - kFlow);
}

// sup |∇R - ∇R_∞| along the limit flow, in its parameters.
double gap_of(const RoundFlow& flow, const RoundFlow& limit, Parametrisation parameters) {
  double gap = 0;
  for (int i = 0; i <= 1000; ++i) {
    const RoundState s = limit.at(i * kEnd / 1000);
    const auto g = flow.risk()(s.a(), s.b()), h = limit.risk()(s.a(), s.b());
    const double A = (g.slope_a - h.slope_a) / kDimension, b = g.slope_b - h.slope_b;
    // The factors of the pull-back to K and Q, and to V and o.
    const double in_A = parameters == Parametrisation::factored ? std::hypot(s.x[0], s.x[1]) : 1;
    const double in_b = parameters == Parametrisation::factored ? std::hypot(s.x[2], s.x[3]) : 1;
    gap = std::max(gap, std::hypot(std::sqrt(kDimension) * A * in_A, b * in_b));
  }
  return gap;
}

// Checks path, end, risk, distances and gap of a run whose flow is known.
void expect_run(const TrainingRun& run, Parametrisation parameters) {
  const RoundFlow flow = flow_of(run.attention, run.L.longest(), parameters);
  const RoundFlow limit = flow_of(AttentionKind::linear, kInfinity, parameters);
  EXPECT_EQ(run.method, TrainingMethod::flow);
  EXPECT_DOUBLE_EQ(run.path.end(), kEnd);
  EXPECT_EQ(run.steps, static_cast<std::int64_t>(run.path.points().size()) - 1);
  for (const double t : {0.0, 0.3, 1.1, kEnd}) {
    expect_at(to_parameters(run.map->map(run.path.at(t)), kDimension), flow.at(t), kFlow);
  }
  const RoundState last = flow.at(kEnd);
  expect_at(run.last, last, kFlow);
  EXPECT_NEAR(run.final_risk.value, flow.risk()(last.a(), last.b()).value, kFlow);
  ASSERT_TRUE(run.to_limit_flow);
  expect_supremum(run.to_limit_flow->parameters, [&](double t) { return apart(flow.at(t), limit.at(t)); });
  expect_supremum(run.to_limit_flow->predictions, [&](double t) {
    const RoundState p = flow.at(t), q = limit.at(t);
    return std::sqrt(kDimension) * std::abs(p.a() * p.b() - q.a() * q.b());
  });
  ASSERT_TRUE(run.gradient_gap);
  const double gap = gap_of(flow, limit, parameters);
  EXPECT_LE(*run.gradient_gap, gap + kFlow + 1e-5 * gap);
  EXPECT_GE(*run.gradient_gap, (1 - kMissed) * gap - kFlow);
}

TEST(RegressionTraining, FlowsOnTheInvariantSet) {
  TrainingPlan plan = plan_of(Parametrisation::invariant);
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};
  plan.lengths = {20, 6, kInfinity};
  const std::vector<TrainingRun> runs = train(plan);
  ASSERT_EQ(runs.size(), 6U);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    SCOPED_TRACE(::testing::Message() << "run " << i);
    EXPECT_EQ(runs[i].L, plan.lengths[i % 3]);
    EXPECT_EQ(runs[i].attention, plan.attention[i / 3]);
    expect_run(runs[i], plan.parameters);
    ASSERT_TRUE(runs[i].balance_drift);
    // ‖A‖² - b² is kept where the risk is a function of bA.
    const bool kept = runs[i].attention == AttentionKind::linear || runs[i].L.is_infinite();
    EXPECT_EQ(*runs[i].balance_drift < kFlow, kept) << *runs[i].balance_drift;
    EXPECT_FALSE(runs[i].stationary);
    EXPECT_FALSE(runs[i].to_theorem);
    EXPECT_FALSE(runs[i].noise);
    EXPECT_FALSE(runs[i].to_flow);
  }
  EXPECT_EQ(runs[2].to_limit_flow->parameters.value, 0);
  EXPECT_EQ(runs[2].gradient_gap, 0);
}

// Polynomial risks need no nodes, so that the tolerance is the same off the invariant set.
TEST(RegressionTraining, FlowsOfOtherParametrisations) {
  for (const Parametrisation parameters : {Parametrisation::merged, Parametrisation::factored}) {
    SCOPED_TRACE(::testing::Message() << "parametrisation " << static_cast<int>(parameters));
    TrainingPlan plan = plan_of(parameters);
    plan.attention = {AttentionKind::linear};
    plan.lengths = {6, kInfinity};
    plan.nodes.count = 8;  // for flows of softmax attention, which are not asked for
    for (const TrainingRun& run : train(plan)) {
      expect_run(run, parameters);
      EXPECT_FALSE(run.balance_drift);
    }
  }
}

// Nodes leave an error of some hundredths in the path; the risk at its end is within its reported error.
TEST(RegressionTraining, FlowsOverNodes) {
  constexpr double L = 20, kPath = 0.05;
  for (const Parametrisation parameters : {Parametrisation::merged, Parametrisation::factored}) {
    SCOPED_TRACE(::testing::Message() << "parametrisation " << static_cast<int>(parameters));
    TrainingPlan plan = plan_of(parameters);
    plan.lengths = {L};
    plan.flow.relative_tolerance = 1e-4;
    plan.flow.absolute_tolerance = 1e-7;
    const TrainingRun run = train(plan).front();
    const RoundFlow flow = flow_of(AttentionKind::softmax, L, parameters);
    const RoundFlow limit = flow_of(AttentionKind::softmax, kInfinity, parameters);
    for (const double t : {0.5, 1.2, kEnd}) {
      expect_at(to_parameters(run.map->map(run.path.at(t)), kDimension), flow.at(t), kPath);
    }
    const double risk = flow.risk()(flow.at(kEnd).a(), flow.at(kEnd).b()).value;
    EXPECT_GT(run.final_risk.error, 0);
    EXPECT_LE(run.final_risk.error, 0.02 * risk);
    EXPECT_NEAR(run.final_risk.value, risk, 4 * run.final_risk.error + kPath * kPath);
    ASSERT_TRUE(run.to_limit_flow);
    EXPECT_NEAR(run.to_limit_flow->parameters.value, apart(flow.at(kEnd), limit.at(kEnd)), kPath);
    ASSERT_TRUE(run.gradient_gap);
    const double gap = gap_of(flow, limit, parameters);
    EXPECT_NEAR(*run.gradient_gap, gap, 0.1 * gap);
  }
}

// Flows to the end, against minima in closed form and the limit of the theorem.
TEST(RegressionTraining, FlowsUntilStationary) {
  TrainingPlan plan = test::round_plan(Parametrisation::invariant, kDimension, 0,
                                       {{0.6 / std::sqrt(kDimension), 1, 0.6, 1}});  // balance 0
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};
  plan.lengths = {40, kInfinity};
  const std::vector<TrainingRun> runs = train(plan);
  ASSERT_EQ(runs.size(), 4U);
  for (const TrainingRun& run : runs) EXPECT_TRUE(run.stationary);
  constexpr double d = kDimension;
  EXPECT_NEAR(runs[2].final_risk.value, d * (d + 1) / (2 * (40 + d + 1)), 1e-12);
  const test::PlanarMinimum best = test::minimise(test::planar_risk(kDimension, 0, 40), 0.6, 1.2);
  EXPECT_NEAR(runs[0].final_risk.value, best.risk, 1e-10);
  for (const std::size_t i : {1, 3}) {
    EXPECT_NEAR(runs[i].final_risk.value, 0, 1e-12);
    ASSERT_TRUE(runs[i].to_theorem);
    EXPECT_LE(*runs[i].to_theorem, kFlow);
    expect_at(runs[i].last, {{std::pow(d, -0.25), 1, std::pow(d, 0.25), 1}}, kFlow);
  }
  EXPECT_FALSE(runs[0].to_theorem);
  // Another balance leads to another end; with a singular covariance there is none to compare with.
  plan.lengths = {kInfinity};
  plan.start[plan.start.size() - 1] = 1;
  EXPECT_GT(train(plan).front().to_theorem.value(), 0.01);
  plan.problem.covariance = Matrix(Vector{{1, 1, 0}}.asDiagonal());
  EXPECT_FALSE(train(plan).front().to_theorem);
}

void expect_refused(const TrainingPlan& plan, const std::string& fragment) {
  try {
    train(plan);
    ADD_FAILURE() << "not refused: " << fragment;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos) << error.what();
  }
}

TEST(RegressionTraining, BadInput) {
  TrainingPlan good = plan_of(Parametrisation::invariant);
  good.lengths = {10};
  good.flow.end = 0.1;
  TrainingPlan plan = good;
  plan.lengths.clear();
  expect_refused(plan, "no lengths");
  for (const auto kind : {Parametrisation::invariant, Parametrisation::merged, Parametrisation::factored}) {
    plan = good;
    plan.parameters = kind;
    plan.start = Vector::Zero(7);
    expect_refused(plan, "start");
  }
  plan = good;
  EXPECT_THROW(plan.lengths.emplace_back(0.5), InputError);
  plan = good;
  plan.problem.noise_variance = -1;
  expect_refused(plan, "noise");
  plan = good;
  plan.flow.end = -1;
  expect_refused(plan, "end");

  good.methods = {TrainingMethod::descent};
  expect_refused(good, "step size");
  good.descent.step_size = constant_steps(0.01);
  good.descent.steps = 2;
  EXPECT_EQ(train(good).size(), 1U);
  for (const double L : {2.5, 1e16}) {
    plan = good;
    plan.lengths = {10, L};
    expect_refused(plan, "whole number");
  }
  plan = good;
  plan.descent.step_size = constant_steps(1e9);
  plan.descent.steps = 100;
  expect_refused(plan, "softmax attention, L = 10: descend: diverged at step");
}

TEST(RegressionTraining, StopsOnRequest) {
  TrainingPlan plan = plan_of(Parametrisation::invariant);
  plan.lengths = {10};
  const std::atomic<bool> stop = true;
  EXPECT_THROW(train(plan, {.stop = &stop}), Stopped);
}

}  // namespace
}  // namespace largo::regression_training_test
