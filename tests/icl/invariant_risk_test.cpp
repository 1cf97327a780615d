// The risk on the invariant set against the general one, against one-dimensional integrals, and against the
// figures of the literature.
#include <gtest/gtest.h>

#include <cmath>

#include "exact/spread_rule.hpp"
#include "icl/planar_risk.hpp"
#include "icl/regression_settings.hpp"
#include "icl/risk_statistics.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_maps.hpp"
#include "numerics/factor.hpp"

namespace largo::invariant_risk_test {
namespace {

using test::kInfinity;

// The reported error relative to the terms of R_L - R_∞, as in the card.
constexpr double kReported = 2e-9;

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

struct Difference {
  double value = 0, size = 0;  ///< the size is the sum of the sizes of the terms

  void add(double term) {
    value += term;
    size += std::abs(term);
  }
};

// R_L - R_∞ at (A, b) with a rule over the spread that is four times finer.
Difference finer_difference(const RegressionProblem& problem, const Vector& at, double L) {
  const Eigen::Index d = problem.dimension();
  const Matrix &S = problem.covariance, &O = problem.prior_covariance;
  const Matrix A = problem.score_scale * at.head(d * d).reshaped(d, d);
  const double b = at[d * d];
  const Matrix R = numerics::covariance_root("test", "S", S).root;
  const Matrix Q = numerics::covariance_root("test", "Q", problem.query_covariance).root;
  const numerics::SingularValues scores = numerics::singular_values(R.transpose() * A * Q);
  const exact::SpreadRule rule(scores.values.cwiseAbs2(), L,
                               4 * exact::SpreadRule::refinement(scores.values.maxCoeff(), L));
  const auto table = SoftmaxTable::shared(L);
  Matrix statistics(rule.size(), 2);
  for (Eigen::Index i = 0; i < rule.size(); ++i) {
    const icl::RiskStatistics f = icl::risk_statistics(*table, rule.squares()[i]);
    statistics.row(i) << f.p, f.phi;
  }
  const Matrix averages = rule.weights() * statistics;
  Difference difference;
  difference.add(0.5 * b * b * ((S * O).trace() + problem.noise_variance) * averages(0, 0));
  for (Eigen::Index j = 0; j < d; ++j) {
    const Vector x = Q * scores.right.col(j), mapped = S * A * x;
    difference.add(0.5 * b * b * mapped.dot(O * mapped) * averages(1 + j, 1));
    difference.add(b * x.dot(O * mapped) * averages(1 + j, 0));
  }
  return difference;
}

// The same in two dimensions by the trapezoidal rules in ln |χ| and the angle of χ, x_q = Qχ.
double polar_difference(const RegressionProblem& problem, const Vector& at, double L) {
  const Matrix &S = problem.covariance, &O = problem.prior_covariance;
  const Matrix A = problem.score_scale * at.head(4).reshaped(2, 2);
  const Matrix Q = numerics::covariance_root("test", "Q", problem.query_covariance).root;
  const double b = at[4], label = (S * O).trace() + problem.noise_variance;
  const auto table = SoftmaxTable::shared(L);
  constexpr double kStep = 0.025;
  constexpr int kAngles = 96;  // of half a turn; the other half is the same
  double sum = 0;
  for (int k = 0; k < kAngles; ++k) {
    const double angle = std::acos(-1.0) * k / kAngles;
    const Vector x = Q * Vector{{std::cos(angle), std::sin(angle)}}, mapped = S * A * x;
    const double square = x.dot(A.transpose() * mapped);
    const double c = mapped.dot(O * mapped), y = x.dot(O * mapped);
    for (double u = -20; u < std::log(18.0); u += kStep) {
      const double r2 = std::exp(2 * u);
      const icl::RiskStatistics f = icl::risk_statistics(*table, r2 * square);
      sum += r2 * std::exp(-r2 / 2) * (b * b * (r2 * c * f.phi + label * f.p) + 2 * b * r2 * y * f.p);
    }
  }
  return 0.5 * kStep * sum / kAngles;
}

// The error bar is a promise for long prompts and large scores, too, where the statistics change sharply.
// (R_∞ has the same bits on both sides, so the sum has one rounding.)
TEST(InvariantRisk, ErrorCoversTheRuleOverTheSpread) {
  for (const Eigen::Index d : {2, 3, 5}) {
    for (std::uint64_t id = 50; id < 54; ++id) {
      const RegressionProblem problem = test::random_problem(id, d);
      const auto limit = invariant_risk(problem, AttentionKind::softmax, kInfinity);
      for (const double L : {64.0, 1e4, 1e8, 1e12, 1e15}) {
        const auto risk = invariant_risk(problem, AttentionKind::softmax, L);
        for (const double size : {0.3, 1.0, 4.0, 12.0, 40.0}) {
          Vector at = test::random_invariant(id, d);
          at.head(d * d) *= size;
          SCOPED_TRACE(::testing::Message()
                       << "d = " << d << ", id " << id << ", L = " << L << ", size " << size);
          const RiskPoint point = risk->at(at);
          const double base = limit->at(at).value, rounding = 1e-15 * (point.value + base);
          const Difference difference = finer_difference(problem, at, L);
          EXPECT_LE(std::abs(point.value - (base + difference.value)), point.error + rounding);
          EXPECT_LE(point.error, kReported * difference.size);
          if (d == 2 && id < 52) {
            EXPECT_LE(std::abs(point.value - (base + polar_difference(problem, at, L))),
                      point.error + rounding);
          }
        }
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
}  // namespace largo::invariant_risk_test
