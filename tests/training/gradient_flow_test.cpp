// Gradient flow against flows known in closed form.
#include "largo/training/gradient_flow.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "largo/runtime/check.hpp"
#include "training/risks.hpp"

namespace largo::gradient_flow_test {
namespace {

using test::FunctionRisk;
using test::product_risk;
using test::quadratic_risk;
using test::quartic_risk;

// The card promises some ten times the tolerance, for parameters of size one.
constexpr double kTimesTolerance = 20;

FlowPlan plan_to(double end, double tolerance, FlowMethod method = FlowMethod::dense) {
  FlowPlan plan;
  plan.end = end;
  plan.method = method;
  plan.relative_tolerance = tolerance;
  plan.absolute_tolerance = 1e-3 * tolerance;
  return plan;
}

struct KnownFlow {
  std::string name;
  FunctionRisk risk;
  Vector start;
  std::function<Vector(double)> exact;
};

std::vector<KnownFlow> known_flows() {
  const Vector rates{{0.3, 1, 40}}, ones = Vector::Ones(3);
  const Vector three{{1, -0.4, 0.2}};
  return {
      {"quadratic", quadratic_risk(rates), ones,
       [=](double t) { return Vector((-t * rates.array()).exp()); }},
      {"quartic", quartic_risk(3, 1), three,
       [=](double t) { return Vector(three / std::sqrt(1 + 2 * three.squaredNorm() * t)); }},
  };
}

// Errors are checked at the end and between steps, for each method, and smaller tolerances must pay.
TEST(GradientFlow, ErrorsFollowTheTolerance) {
  for (const KnownFlow& known : known_flows()) {
    for (const FlowMethod method : {FlowMethod::dense, FlowMethod::krylov}) {
      double first = 0;
      for (const double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
        SCOPED_TRACE(::testing::Message()
                     << known.name << ", tolerance " << tolerance << ", method " << static_cast<int>(method));
        const FlowResult result = gradient_flow(known.risk, known.start, plan_to(3, tolerance, method));
        EXPECT_EQ(result.trajectory.end(), 3);
        double worst = 0;
        for (double t = 0; t <= 3; t += 1.0 / 128) {
          worst = std::max(worst, (result.trajectory.at(t) - known.exact(t)).lpNorm<Eigen::Infinity>());
        }
        for (const TrajectoryPoint& point : result.trajectory.points()) {
          const double error = (point.parameters - known.exact(point.time)).lpNorm<Eigen::Infinity>();
          EXPECT_LE(error, kTimesTolerance * tolerance) << point.time;
          worst = std::max(worst, error);
          const RiskPoint there = known.risk.at(point.parameters);
          EXPECT_EQ(point.risk, there.value);
          EXPECT_EQ(point.gradient_norm, there.gradient.norm());
        }
        EXPECT_LE(worst, kTimesTolerance * tolerance);
        if (tolerance == 1e-4) first = worst;
        if (tolerance == 1e-10) {
          EXPECT_LE(worst, 1e-4 * first);
        }
      }
    }
  }
}

TEST(GradientFlow, StopsWhereTheRiskIsFlat) {
  const Vector rates{{0.5, 1, 7}};
  for (const FlowMethod method : {FlowMethod::dense, FlowMethod::krylov}) {
    FlowPlan plan;
    plan.method = method;
    const FlowResult result = gradient_flow(quadratic_risk(rates), Vector::Ones(3), plan);
    EXPECT_TRUE(result.stationary);
    EXPECT_LE(result.trajectory.points().back().parameters.norm(), 1e-9);
    EXPECT_LE(result.last.value, 1e-18);
  }
}

// The valley is ten million times flatter than its sides: the end of the sides is not the end of the flow.
TEST(GradientFlow, FollowsAValleyToItsEnd) {
  const Vector rates{{1, 1e-7}};
  const FlowResult result = gradient_flow(quadratic_risk(rates), Vector::Ones(2));
  EXPECT_TRUE(result.stationary);
  const Vector last = result.trajectory.points().back().parameters;
  // A gradient of 4e-15 of the steepest is rounding, and is 4e-8 of the valley.
  EXPECT_LE(last.lpNorm<Eigen::Infinity>(), 4e-8);
  ASSERT_TRUE(result.to_go);
  EXPECT_NEAR(*result.to_go, last.norm(), 1e-9);
  EXPECT_GE(result.trajectory.end(), 1e8);
  // On the way, θ_2 = e^{-1e-7 t}.
  for (const double t : {1e3, 1e6, 1e7, 3e7}) {
    EXPECT_NEAR(result.trajectory.at(t)[1], std::exp(-1e-7 * t), 1e-7) << t;
  }
}

// A curved valley, not so flat that it counts as a minimum: ½ (ab - 1)² with a weak pull along ab = 1.
TEST(GradientFlow, FollowsACurvedValley) {
  constexpr double kPull = 1e-6;
  const FunctionRisk risk(2, [](const Vector& x) {
    const double miss = x[0] * x[1] - 1;
    return RiskPoint{0.5 * miss * miss + 0.5 * kPull * x.squaredNorm(), 0,
                     Vector{{miss * x[1] + kPull * x[0], miss * x[0] + kPull * x[1]}}};
  });
  const FlowResult result = gradient_flow(risk, Vector{{2, 0.1}});
  EXPECT_TRUE(result.stationary);
  const double end = std::sqrt(1 - kPull);  // a = b, a² = 1 - pull
  EXPECT_LE((result.trajectory.points().back().parameters - Vector{{end, end}}).norm(), 1e-7);
}

TEST(GradientFlow, StartsAtAStationaryPoint) {
  const FlowResult result = gradient_flow(product_risk(), Vector::Ones(2));
  EXPECT_TRUE(result.stationary);
  EXPECT_EQ(result.trajectory.points().size(), 1U);
  EXPECT_EQ(result.trajectory.at(5), Vector::Ones(2));
}

TEST(GradientFlow, WatchesConservedQuantities) {
  for (const double tolerance : {1e-6, 1e-9}) {
    FlowPlan plan;
    plan.relative_tolerance = tolerance;
    plan.conserved = {{"a² - b²", [](const Vector& x) { return x[0] * x[0] - x[1] * x[1]; }},
                      {"a", [](const Vector& x) { return x[0]; }}};
    const Vector start{{0.2, 0.5}};
    const FlowResult result = gradient_flow(product_risk(), start, plan);
    ASSERT_EQ(result.drift.size(), 2U);
    EXPECT_LE(result.drift[0], 10 * kTimesTolerance * tolerance);
    // b² = a² + 0.21, ab = 1, and a rises all the way.
    const double a = std::sqrt((-0.21 + std::sqrt(0.21 * 0.21 + 4)) / 2);
    EXPECT_NEAR(result.drift[1], a - 0.2, 1e-4);
    EXPECT_NEAR(result.trajectory.points().back().parameters[0], a, kTimesTolerance * tolerance);
  }
}

TEST(GradientFlow, ReportsEachStep) {
  FlowPlan plan = plan_to(2, 1e-6);
  std::vector<double> times;
  plan.progress = [&](double time, double norm) {
    times.push_back(time);
    EXPECT_GT(norm, 0);
  };
  const FlowResult result = gradient_flow(product_risk(), Vector{{0.3, 0.4}}, plan);
  ASSERT_EQ(times.size() + 1, result.trajectory.points().size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i], result.trajectory.points()[i + 1].time);
  EXPECT_GE(result.evaluations, static_cast<std::int64_t>(times.size()));
}

TEST(GradientFlow, SameBitsForAnyThreads) {
  const auto last = [](int threads) {
    return gradient_flow(quartic_risk(3, 1), Vector{{1, -0.4, 0.2}}, plan_to(2, 1e-8), {.threads = threads})
        .trajectory.points()
        .back()
        .parameters;
  };
  EXPECT_EQ(last(1), last(2));
}

std::string message(const Risk& risk, const Vector& start, const FlowPlan& plan) {
  try {
    gradient_flow(risk, start, plan);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

void expect_one_line(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << '"' << text << '"';
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.rfind("gradient_flow", 0), 0U) << text;
}

TEST(GradientFlow, EscapesAreErrors) {
  for (const FlowMethod method : {FlowMethod::dense, FlowMethod::krylov}) {
    FlowPlan plan;
    plan.method = method;
    expect_one_line(message(quartic_risk(2, -1), Vector::Ones(2), plan), "leaves every bound");
    plan.end = 10;  // it is infinite at t = 1/4
    expect_one_line(message(quartic_risk(2, -1), Vector::Ones(2), plan), "leaves every bound");
  }
  FlowPlan plan;  // e^t
  expect_one_line(message(quadratic_risk(Vector::Constant(1, -1)), Vector::Ones(1), plan), "flow");
}

// If a risk has a domain, its own message comes through.
TEST(GradientFlow, LeavingTheDomainOfTheRisk) {
  const FunctionRisk risk(1, [](const Vector& x) {
    if (x[0] > 2) fail("gradient_flow test risk", "parameter", x[0], "at most 2");
    return RiskPoint{-x[0], 0, Vector::Constant(1, -1)};
  });
  expect_one_line(message(risk, Vector::Zero(1), {}), "at most 2");
}

TEST(GradientFlow, TooManySteps) {
  FlowPlan plan;
  plan.most_steps = 5;
  expect_one_line(message(product_risk(), Vector{{0.3, 0.4}}, plan), "not stationary after 5 steps");
  plan.end = 100;
  expect_one_line(message(product_risk(), Vector{{0.3, 0.4}}, plan), "after 5 steps");
}

TEST(GradientFlow, StopsOnRequest) {
  std::atomic<bool> stop = false;
  FlowPlan plan;
  plan.progress = [&](double time, double) { stop = time > 0.1; };
  Execution execution;
  execution.stop = &stop;
  EXPECT_THROW(gradient_flow(product_risk(), Vector{{0.3, 0.4}}, plan, execution), Stopped);
}

TEST(GradientFlow, BadInput) {
  const FunctionRisk risk = product_risk();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](auto change) {
    FlowPlan plan;
    change(plan);
    return plan;
  };
  expect_one_line(message(risk, Vector::Ones(3), {}), "start");
  expect_one_line(message(risk, Vector{{1, nan}}, {}), "start");
  for (const double bad : {0.0, -1.0, nan}) {
    const Vector start{{0.3, 0.4}};
    expect_one_line(message(risk, start, with([&](FlowPlan& plan) { plan.end = bad; })), "end");
    expect_one_line(message(risk, start, with([&](FlowPlan& plan) { plan.relative_tolerance = bad; })),
                    "relative_tolerance");
    expect_one_line(message(risk, start, with([&](FlowPlan& plan) { plan.absolute_tolerance = bad; })),
                    "absolute_tolerance");
    expect_one_line(message(risk, start, with([&](FlowPlan& plan) { plan.stationary_tolerance = bad; })),
                    "stationary_tolerance");
  }
  expect_one_line(message(risk, Vector{{0.3, 0.4}}, with([](FlowPlan& plan) { plan.most_steps = 0; })),
                  "most_steps");
}

}  // namespace
}  // namespace largo::gradient_flow_test
