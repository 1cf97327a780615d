// Flows do not depend on the units of parameters, risk and time, nor do parameters have to be of one size.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "largo/runtime/check.hpp"
#include "largo/training/gradient_flow.hpp"
#include "training/risks.hpp"

namespace largo::flow_units_test {
namespace {

using test::FunctionRisk;

// a R(kθ): its flow passes through θ/k, in times that are 1/(a k²) as long.
FunctionRisk in_units(const FunctionRisk& risk, double a, double k) {
  return {risk.size(), [risk, a, k](const Vector& x) {
            const RiskPoint point = risk.at(k * x);
            return RiskPoint{a * point.value, 0, a * k * point.gradient};
          }};
}

// ½ (xy - 1)² + pull ½ |θ|² + ¼ z⁴ - z x, with a parameter that starts at zero and crosses it.
FunctionRisk crooked_risk() {
  return {3, [](const Vector& p) {
            const double x = p[0], y = p[1], z = p[2], miss = x * y - 1, pull = 1e-3;
            return RiskPoint{
                0.5 * miss * miss + 0.5 * pull * p.squaredNorm() + 0.25 * z * z * z * z - z * x, 0,
                Vector{{miss * y + pull * x - z, miss * x + pull * y, z * z * z + pull * z - x}}};
          }};
}

void expect_same_flow(const FlowResult& given, const FlowResult& scaled, double a, double k) {
  EXPECT_EQ(given.stationary, scaled.stationary);
  EXPECT_EQ(given.evaluations, scaled.evaluations);
  const auto &one = given.trajectory.points(), &two = scaled.trajectory.points();
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(one[i].time, two[i].time * (a * k * k)) << i;
    ASSERT_EQ(one[i].parameters, k * two[i].parameters) << i;
    ASSERT_EQ(a * one[i].risk, two[i].risk) << i;
    ASSERT_EQ(a * k * one[i].gradient_norm, two[i].gradient_norm) << i;
    ASSERT_EQ(given.trajectory.values()[i], k * scaled.trajectory.values()[i]) << i;
  }
}

TEST(FlowUnits, PowersOfTwoGiveTheSameBits) {
  for (const FlowMethod method : {FlowMethod::dense, FlowMethod::krylov}) {
    for (const double end : {std::numeric_limits<double>::infinity(), 3.0}) {
      const Vector start{{-0.5, -0.2, 0}};
      FlowPlan plan;
      plan.method = method;
      plan.end = end;
      const FlowResult given = gradient_flow(crooked_risk(), start, plan);
      for (const int i : {-100, -1, 0, 31}) {
        for (const int j : {-40, 0, 1, 60}) {
          SCOPED_TRACE(::testing::Message() << "risk 2^" << i << ", parameters 2^" << j << ", end " << end);
          const double a = std::ldexp(1, i), k = std::ldexp(1, j);
          plan.end = end / (a * k * k);
          expect_same_flow(given, gradient_flow(in_units(crooked_risk(), a, k), start / k, plan), a, k);
        }
      }
    }
  }
}

// ½ (uv - 1)² + ½ (v - 1)² with u = x/X, v = y/Y. The minimum is (X, Y), the curvatures there are in the
// ratio of 1/X² to 1/Y², and the last bits of ∂R/∂y may exceed all of ∂R/∂x.
FunctionRisk sizes_risk(double X, double Y) {
  return {2, [X, Y](const Vector& p) {
            const double u = p[0] / X, v = p[1] / Y, miss = u * v - 1;
            return RiskPoint{0.5 * miss * miss + 0.5 * (v - 1) * (v - 1), 0,
                             Vector{{miss * v / X, (miss * u + v - 1) / Y}}};
          }};
}

TEST(FlowUnits, ParametersOfDifferentSizesReachTheEnd) {
  for (const double size : {1e-120, 1e-60, 1e-8, 1e-4, 1.0, 1e4, 1e8, 1e60, 1e120}) {
    for (const double from : {0.3, 2.5}) {
      SCOPED_TRACE(::testing::Message() << "size " << size << ", from " << from);
      const FlowResult flow = gradient_flow(sizes_risk(size, 1), Vector{{from * size, from}});
      EXPECT_TRUE(flow.stationary);
      const Vector last = flow.trajectory.points().back().parameters;
      EXPECT_NEAR(last[0] / size, 1, 1e-8);
      EXPECT_NEAR(last[1], 1, 1e-8);
      EXPECT_LE(flow.last.value, 1e-17);
    }
  }
}

// From far away, where the risk is 10^(4n) times what matters, the end is found too, if its scale is given.
TEST(FlowUnits, StartsFarAway) {
  for (const double far : {1e3, 1e10, 1e30}) {
    FlowPlan plan;
    plan.risk_scale = 1;
    const FlowResult flow = gradient_flow(sizes_risk(1, 1), Vector{{far, far}}, plan);
    EXPECT_LE((flow.trajectory.points().back().parameters - Vector::Ones(2)).norm(), 1e-8) << far;
  }
}

// ½ (xy - 1)², started next to its saddle at zero, where the gradient is small although this is not the end.
TEST(FlowUnits, StartsNextToASaddle) {
  for (const double near : {1e-3, 1e-20, 1e-100, 1e-200}) {
    FlowPlan plan;
    plan.risk_scale = 1;
    const FlowResult flow = gradient_flow(test::product_risk(), Vector::Constant(2, near), plan);
    EXPECT_LE((flow.trajectory.points().back().parameters - Vector::Ones(2)).norm(), 1e-6) << near;
  }
}

// ½ (x - 1)² + ½ h (y - 1)²: where h cannot be told from rounding, neither can the distance left along y.
TEST(FlowUnits, TheWayAlongAFlatValleyIsNotKnown) {
  const auto valley = [](double h) {
    return FunctionRisk(2, [h](const Vector& p) {
      const Vector miss{{p[0] - 1, h * (p[1] - 1)}};
      return RiskPoint{0.5 * (miss[0] * miss[0] + miss[1] * (p[1] - 1)), 0, miss};
    });
  };
  EXPECT_TRUE(gradient_flow(valley(1e-6), Vector{{3, 0}}).to_go.has_value());
  EXPECT_FALSE(gradient_flow(valley(1e-14), Vector{{3, 0}}).to_go.has_value());
}

// A flat valley is neither an end nor an error, but it is reported. With an end in time the valley is
// followed up to that time.
TEST(FlowUnits, FlatValleysAreNotStationary) {
  for (const double h : {1e-13, 1e-14}) {
    const FunctionRisk valley(2, [h](const Vector& p) {
      const Vector miss{{p[0] - 1, h * (p[1] - 1)}};
      return RiskPoint{0.5 * (miss[0] * miss[0] + miss[1] * (p[1] - 1)), 0, miss};
    });
    const FlowResult to_the_end = gradient_flow(valley, Vector{{3, 0}});
    EXPECT_FALSE(to_the_end.stationary) << h;
    EXPECT_TRUE(to_the_end.flat) << h;
    EXPECT_FALSE(to_the_end.to_go) << h;
    const FlowResult in_time = gradient_flow(valley, Vector{{3, 0}}, {.end = 1 / h});
    EXPECT_FALSE(in_time.flat) << h;
    EXPECT_NEAR(in_time.trajectory.points().back().parameters[1], 1 - std::exp(-1), 1e-3) << h;
  }
}

// The curvature of x⁴ vanishes with its slope: the flow ends where rounding keeps the risk from falling.
TEST(FlowUnits, SlowDecayEnds) {
  const FunctionRisk risk(2, [](const Vector& p) {
    const double x = p[0], y = p[1];
    return RiskPoint{x * x * x * x + y * y, 0, Vector{{4 * x * x * x, 2 * y}}};
  });
  for (const FlowMethod method : {FlowMethod::dense, FlowMethod::krylov}) {
    const FlowResult flow = gradient_flow(risk, Vector{{1, 1}}, {.method = method});
    EXPECT_TRUE(flow.stationary);
    EXPECT_FALSE(flow.flat);
    EXPECT_LE(flow.last.value, 2.3e-16);
  }
}

// Along these the gradient falls to nothing, and the risk has no minimum, or one that is far away.
TEST(FlowUnits, WhatGoesOnIsNotStationary) {
  const auto of_one = [](auto value, auto slope) {
    return FunctionRisk{1, [=](const Vector& x) {
                          return RiskPoint{value(x[0]), 0, Vector::Constant(1, slope(x[0]))};
                        }};
  };
  const auto valley = [](double steep, double flat, double far) {
    return FunctionRisk{
        2, [=](const Vector& p) {
          const double x = p[0] - 1, y = p[1] - far;
          return RiskPoint{0.5 * (steep * x * x + flat * y * y), 0, Vector{{steep * x, flat * y}}};
        }};
  };
  FlowPlan plan;
  plan.method = FlowMethod::krylov;
  const auto expect_flat = [&](const FunctionRisk& risk, const Vector& start) {
    const FlowResult flow = gradient_flow(risk, start, plan);
    EXPECT_FALSE(flow.stationary) << flow.trajectory.points().back().parameters.transpose();
    EXPECT_TRUE(flow.flat);
  };
  expect_flat(of_one([](double x) { return -std::log(x); }, [](double x) { return -1 / x; }),
              Vector::Ones(1));
  expect_flat(of_one([](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); }), Vector::Ones(1));
  expect_flat(of_one([](double x) { return std::exp(-x); }, [](double x) { return -std::exp(-x); }),
              Vector::Zero(1));
  expect_flat(valley(1e10, 1e-10, 1e6), Vector::Zero(2));
  expect_flat(valley(1, 1e-14, 1), Vector::Zero(2));
}

// x² - y² + y⁴/2, started next to its saddle, flows down to y² = 1.
TEST(FlowUnits, ASaddleIsNoEnd) {
  const FunctionRisk risk{
      2, [](const Vector& p) {
        const double x = p[0], y = p[1], square = y * y;
        return RiskPoint{x * x - square + 0.5 * square * square, 0, Vector{{2 * x, 2 * y * (square - 1)}}};
      }};
  for (const double aside : {1e-3, 1e-30, 1e-40, 1e-100, 1e-200}) {
    const FlowResult flow = gradient_flow(risk, Vector{{1.0, aside}});
    EXPECT_TRUE(flow.stationary) << aside;
    EXPECT_NEAR(flow.last.value, -0.5, 1e-12) << aside;
  }
}

// ½ a (x - 1)²: a large risk is no divergence.
TEST(FlowUnits, RisksOfAnySizeEnd) {
  for (const double a : {1e-300, 1e-200, 1e200, 1e300}) {
    const FunctionRisk risk(1, [a](const Vector& p) {
      const double miss = p[0] - 1;
      return RiskPoint{0.5 * a * miss * miss, 0, Vector{{a * miss}}};
    });
    const FlowResult flow = gradient_flow(risk, Vector{{3}});
    EXPECT_TRUE(flow.stationary) << a;
    EXPECT_NEAR(flow.trajectory.points().back().parameters[0], 1, 1e-8) << a;
  }
}

TEST(FlowUnits, EverythingAtZero) {
  const FunctionRisk risk(2, [](const Vector& p) {
    const Vector miss{{p[0] - 3e50, 10 * (p[1] + 1e50)}};
    return RiskPoint{0.5 * (miss[0] * miss[0] + 0.1 * miss[1] * miss[1]), 0, miss};
  });
  const FlowResult flow = gradient_flow(risk, Vector::Zero(2));
  EXPECT_LE((flow.trajectory.points().back().parameters - Vector{{3e50, -1e50}}).norm(), 1e42);
}

std::string message(const Risk& risk, const Vector& start, const FlowPlan& plan = {}) {
  try {
    gradient_flow(risk, start, plan);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// With a gradient of the wrong sign the flow goes to infinity, and an error says so.
TEST(FlowUnits, DivergenceIsAnError) {
  for (const FlowMethod method : {FlowMethod::dense, FlowMethod::krylov}) {
    for (const double size : {1e-50, 1.0, 1e50}) {
      const FunctionRisk wrong(2, [](const Vector& x) {
        return RiskPoint{0.5 * x.squaredNorm(), 0, Vector(-x)};
      });
      FlowPlan plan;
      plan.method = method;
      const std::string text = message(wrong, Vector::Constant(2, size), plan);
      EXPECT_NE(text.find("leaves every bound"), std::string::npos) << text;
      EXPECT_NE(text.find("sign of the gradient"), std::string::npos) << text;
      EXPECT_NE(text.find("t = "), std::string::npos) << text;
    }
  }
}

TEST(FlowUnits, RisksThatAreNotFiniteAreErrors) {
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, infinity, -infinity}) {
    const FunctionRisk value(1, [bad](const Vector&) { return RiskPoint{bad, 0, Vector::Ones(1)}; });
    EXPECT_NE(message(value, Vector::Ones(1)).find("not finite"), std::string::npos);
    const FunctionRisk slope(1, [bad](const Vector&) { return RiskPoint{1, 0, Vector::Constant(1, bad)}; });
    EXPECT_NE(message(slope, Vector::Ones(1)).find("not finite"), std::string::npos);
    // The gradient turns bad on the way, at x = ½.
    const FunctionRisk later(1, [bad](const Vector& x) {
      return RiskPoint{x[0], 0, Vector::Constant(1, x[0] < 0.5 ? bad : 1)};
    });
    EXPECT_NE(message(later, Vector::Ones(1)).find("not finite"), std::string::npos);
  }
}

TEST(FlowUnits, BadScaleOfTheRisk) {
  for (const double bad : {-1.0, std::nan("")}) {
    FlowPlan plan;
    plan.risk_scale = bad;
    EXPECT_NE(message(test::product_risk(), Vector{{0.3, 0.4}}, plan).find("risk_scale"), std::string::npos);
  }
}

}  // namespace
}  // namespace largo::flow_units_test
