// The risk on the invariant set against the general one, against one-dimensional integrals, and against the
// figures of the literature.
#include <gtest/gtest.h>

#include <cmath>

#include "icl/planar_risk.hpp"
#include "icl/regression_settings.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_maps.hpp"

namespace largo {
namespace {

using test::kInfinity;

TEST(InvariantRisk, IsTheGeneralRiskThere) {
  for (const Eigen::Index d : {1, 2, 4, 8}) {
    const auto id = static_cast<std::uint64_t>(d) + 30;
    const RegressionProblem problem = test::random_problem(id, d);
    const Vector at = test::random_invariant(id, d);
    for (const double L : {1.0, 3.0, 100.0, 1e6}) {
      SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L);
      const RiskPoint exact = invariant_risk(problem, AttentionKind::softmax, L)->at(at);
      const auto general = general_risk(problem, AttentionKind::softmax, L, {.count = 1 << 16});
      const RiskPoint other = in_parameters(general, invariant_map(d))->at(at);
      EXPECT_LE(std::abs(other.value - exact.value), other.error);
      EXPECT_LE(other.error, 0.05 * exact.value);
      EXPECT_LE((other.gradient - exact.gradient).norm(), 0.05 * exact.gradient.norm());
      EXPECT_LE(exact.error, 1e-9 * exact.value);
    }
    for (const double L : {1.0, 100.0, kInfinity}) {
      const RiskPoint exact = invariant_risk(problem, AttentionKind::linear, L)->at(at);
      const RiskPoint other =
          in_parameters(general_risk(problem, AttentionKind::linear, L), invariant_map(d))->at(at);
      EXPECT_NEAR(other.value, exact.value, 1e-12 * exact.value);
      EXPECT_LE((other.gradient - exact.gradient).norm(), 1e-12 * exact.gradient.norm());
    }
  }
}

// In one dimension x and s = |A x| √Σ are one variable, and the trapezoidal rule is exact up to e^{-2π²/h²}.
TEST(InvariantRisk, OnALine) {
  for (std::uint64_t id = 0; id < 2; ++id) {
    const RegressionProblem problem = test::random_problem(id, 1);
    const double S = problem.covariance(0, 0), S_q = problem.query_covariance(0, 0);
    const double O = problem.prior_covariance(0, 0), c = problem.score_scale;
    const double A = 0.8, b = 0.9;
    for (const double L : {1.0, 2.0, 30.0, 1e5, 1e12}) {
      double risk = 0;
      constexpr double kStep = 1.0 / 16;
      for (double y = 0; y < 10; y += kStep) {
        const double x = std::sqrt(S_q) * y;
        const double weight = (y == 0 ? 1 : 2) * kStep * 0.3989422804014327 * std::exp(-y * y / 2);
        const SoftmaxMoments m = softmax_moments(c * A * x * std::sqrt(S), L);
        const double p = m.P2.value, F = 1 - p - 6 * m.P3.value + 6 * m.P2P2.value;
        const double map = S * c * A * x;
        risk += 0.5 * weight *
                (b * b * map * map * O * F + b * b * (S * O + problem.noise_variance) * p -
                 2 * b * (1 - p) * x * O * map + x * O * x);
      }
      const RiskPoint point = invariant_risk(problem, AttentionKind::softmax, L)->at(Vector{{A, b}});
      EXPECT_NEAR(point.value, risk, 1e-9 * risk) << L;
    }
  }
}

TEST(InvariantRisk, OfRoundProblems) {
  for (const int d : {3, 5, 10}) {
    for (const double L : {2.0, 100.0, 1e6, 1e12}) {
      SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L);
      const test::PlanarRisk<double> planar = test::planar_risk(d, 0.3, L);
      const auto risk = invariant_risk(test::round_problem(d, 0.3), AttentionKind::softmax, L);
      for (const double a : {0.3, 0.8, 1.3}) {
        const double b = 0.7;
        const test::PlanarPoint<double> expected = planar.at(a, b);
        const RiskPoint point = risk->at(test::round_point(d, a, b));
        // R_L - R_∞ is accurate to 1e-9 of itself, apart from the rounding of R_∞.
        const double limit = 0.5 * d * (a * b - 1) * (a * b - 1);
        EXPECT_NEAR(point.value, expected.value, 1e-9 * std::abs(expected.value - limit) + 1e-15 * limit);
        EXPECT_LE(point.error, 1e-8 * expected.value);
        const double trace = point.gradient.head(d * d).reshaped(d, d).trace();
        EXPECT_NEAR(trace, expected.slope_a, 1e-9 * std::abs(expected.slope_a));
        EXPECT_NEAR(point.gradient[d * d], expected.slope_b, 1e-9 * std::abs(expected.slope_b));
      }
    }
  }
}

// Neither a rotation of everything nor a basis in which Σ is not diagonal changes anything.
TEST(InvariantRisk, DoesNotDependOnTheBasis) {
  const Eigen::Index d = 3;
  const double t = 0.6, c = std::cos(t), s = std::sin(t);
  const Matrix R = Matrix{{c, -s, 0}, {s, c, 0}, {0, 0, 1}} * Matrix{{1, 0, 0}, {0, c, -s}, {0, s, c}};
  const RegressionProblem problem = test::random_problem(6, d);
  RegressionProblem rotated = problem;
  for (Matrix* matrix : {&rotated.covariance, &rotated.query_covariance, &rotated.prior_covariance}) {
    const Matrix turned = R * *matrix * R.transpose();
    *matrix = 0.5 * (turned + turned.transpose());
  }
  const Vector at = test::random_invariant(6, d);
  Vector moved = at;
  moved.head(9) = Matrix(R * at.head(9).reshaped(3, 3) * R.transpose()).reshaped();
  for (const double L : {2.0, 100.0, 1e9}) {
    const RiskPoint one = invariant_risk(problem, AttentionKind::softmax, L)->at(at);
    const RiskPoint two = invariant_risk(rotated, AttentionKind::softmax, L)->at(moved);
    EXPECT_NEAR(one.value, two.value, 1e-10 * one.value);
    const Matrix turned = R * one.gradient.head(9).reshaped(3, 3) * R.transpose();
    EXPECT_LE((two.gradient.head(9).reshaped(3, 3) - turned).norm(), 1e-10 * turned.norm());
  }
}

// The best (a, b) at each length for d = 5, Σ = I and no noise.
TEST(InvariantRisk, OrientationValues) {
  const RegressionProblem problem = test::round_problem(5);
  EXPECT_DOUBLE_EQ(problem.null_risk(), 2.5);
  const auto check = [&](double L, double softmax, double linear, double tolerance) {
    const test::PlanarMinimum best = test::minimise(test::planar_risk(5, 0, L), 0.7, 1.5);
    const RiskPoint there =
        invariant_risk(problem, AttentionKind::softmax, L)->at(test::round_point(5, best.a, best.b));
    EXPECT_NEAR(there.value, softmax, tolerance);
    EXPECT_LE(there.gradient.norm(), 1e-9);
    const InvariantPoint best_of_linear = best_linear(problem, L);
    Vector at(26);
    at << best_of_linear.A.reshaped(), best_of_linear.b;
    EXPECT_NEAR(invariant_risk(problem, AttentionKind::linear, L)->at(at).value, linear,
                tolerance * linear / softmax);
  };
  check(100, 0.370, 0.1415, 5e-4);
  check(1e5, 4.8e-4, 1.5e-4, 5e-6);
}

}  // namespace
}  // namespace largo
