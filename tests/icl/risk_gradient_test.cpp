// Gradients of the exact risks against differences of the risks themselves, and against differences in 70
// digits of a planar risk whose statistics come from the oracle.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "exact/oracle.hpp"
#include "icl/differences.hpp"
#include "icl/planar_risk.hpp"
#include "icl/regression_settings.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_maps.hpp"

namespace largo::risk_gradient_test {
namespace {

using test::gradient_by_differences;
using test::kInfinity;

constexpr double kGradient = 1e-8;  // relative to its norm
constexpr double kLengths[] = {1, 2, 10, 1e3, 1e6, 1e12, kInfinity};

void expect_gradient(const Risk& risk, const Vector& at, double h) {
  const Vector differences =
      gradient_by_differences([&](const Vector& x) { return risk.at(x).value; }, at, h);
  const Vector gradient = risk.at(at).gradient;
  EXPECT_LE((gradient - differences).norm(), kGradient * gradient.norm());
}

TEST(RiskGradient, InvariantRisk) {
  for (const Eigen::Index d : {1, 2, 5}) {
    for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
      for (const double L : kLengths) {
        SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L << ", " << static_cast<int>(kind));
        const auto id = static_cast<std::uint64_t>(d);
        expect_gradient(*invariant_risk(test::random_problem(id, d), kind, L), test::random_invariant(id, d),
                        0.02);
      }
    }
  }
}

// For long prompts R_L - R_∞ is small and hidden by R_∞, so its gradient is checked alone, to 1e-7 of itself.
TEST(RiskGradient, WhatAFinitePromptAdds) {
  const RegressionProblem problem = test::random_problem(3, 3);
  const Vector at = test::random_invariant(3, 3);
  const auto limit = invariant_risk(problem, AttentionKind::softmax, kInfinity);
  for (const double L : {1e3, 1e6}) {
    const auto risk = invariant_risk(problem, AttentionKind::softmax, L);
    const auto added = [&](const Vector& x) { return risk->at(x).value - limit->at(x).value; };
    const Vector gradient = risk->at(at).gradient - limit->at(at).gradient;
    const Vector differences = gradient_by_differences(added, at, 0.03);
    EXPECT_LE((gradient - differences).norm(), 1e-7 * gradient.norm()) << L;
  }
}

TEST(RiskGradient, GeneralRisk) {
  for (const Eigen::Index d : {1, 3}) {
    for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
      for (const double L : kLengths) {
        SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L << ", " << static_cast<int>(kind));
        const auto id = static_cast<std::uint64_t>(d);
        expect_gradient(*general_risk(test::random_problem(id, d), kind, L, {.count = 512}),
                        to_vector(test::random_parameters(id, d)), 0.02);
      }
    }
  }
}

// The spread of the scores is zero, or there is a direction without queries.
TEST(RiskGradient, AtTheEdges) {
  const Eigen::Index d = 3;
  RegressionProblem flat = test::random_problem(2, d);
  flat.query_covariance.row(0).setZero();
  flat.query_covariance.col(0).setZero();
  const auto risk = invariant_risk(flat, AttentionKind::softmax, 20);
  expect_gradient(*risk, test::random_invariant(2, d), 0.02);
  Vector zero = Vector::Zero(d * d + 1);
  zero[d * d] = 0.7;
  expect_gradient(*risk, zero, 0.02);
  expect_gradient(*invariant_risk(test::round_problem(d, 0.2), AttentionKind::softmax, 20),
                  test::round_point(d, 0.8, 0.9), 0.02);
}

TEST(RiskGradient, InParametersOfMaps) {
  const Eigen::Index d = 2;
  const RegressionProblem problem = test::random_problem(4, d);
  const std::shared_ptr<const Risk> risk = general_risk(problem, AttentionKind::softmax, 10, {.count = 256});
  const auto factored = in_parameters(risk, factored_map(d));
  EXPECT_EQ(factored->size(), 3 * 9 + 3);
  // Nodes reach far out, where risks change fast, so the step is shorter.
  expect_gradient(*factored, 0.5 * test::random_matrix(77, factored->size(), 1), 0.01);
  expect_gradient(*in_parameters(risk, invariant_map(d)), test::random_invariant(4, d), 0.02);
}

// The maps are U = KᵀQ and v = Vᵀo, and (A, b) to its corner.
TEST(RiskGradient, Maps) {
  const Eigen::Index d = 2, n = d + 1;
  const Vector given = test::random_matrix(78, 3 * n * n + n, 1);
  const RegressionParameters mapped = to_parameters(factored_map(d)->map(given), d);
  for (Eigen::Index i = 0; i < n; ++i) {
    double v = 0;
    for (Eigen::Index k = 0; k < n; ++k) v += given[2 * n * n + i * n + k] * given[3 * n * n + k];
    EXPECT_NEAR(mapped.v[i], v, 1e-14);
    for (Eigen::Index j = 0; j < n; ++j) {
      double u = 0;
      for (Eigen::Index k = 0; k < n; ++k) u += given[i * n + k] * given[n * n + j * n + k];
      EXPECT_NEAR(mapped.U(i, j), u, 1e-14);
    }
  }
  const RegressionParameters corner = to_parameters(invariant_map(d)->map(Vector{{1, 2, 3, 4, 5}}), d);
  EXPECT_EQ(corner.U, (Matrix{{1, 3, 0}, {2, 4, 0}, {0, 0, 0}}));
  EXPECT_EQ(corner.v, (Vector{{0, 0, 5}}));
}

// Differences over 1e-20 of a planar risk whose statistics are the oracle's: each node takes half a second.
TEST(RiskGradient, AgainstDifferencesInSeventyDigits) {
  if (std::getenv("LARGO_LONG_TESTS") == nullptr) GTEST_SKIP() << "minutes: set LARGO_LONG_TESTS=1";
  using oracle::Real;
  constexpr int kDimension = 5;
  constexpr double kStep = 0.09, kNoise = 0.2, kLength = 30;
  const Real a = 0.7, b = 1.1, h = Real("1e-20");
  std::vector<test::PlanarNode<Real>> nodes;
  for (double x = std::log(5e-3); x < std::log(6.5); x += kStep) {
    const Real s = exp(Real(x));
    const oracle::OracleMoments m = oracle::Oracle(s).at(kLength);
    nodes.push_back({s, m.P2, -m.P2 - 6 * m.P3 + 6 * m.P2P2});
  }
  const test::PlanarRisk<Real> planar(kDimension, kNoise, kStep, nodes);
  const auto slope_a =
      Real((planar.at(a + h, b).value - planar.at(a - h, b).value) / (2 * h)).convert_to<double>();
  const auto slope_b =
      Real((planar.at(a, b + h).value - planar.at(a, b - h).value) / (2 * h)).convert_to<double>();
  const auto risk = invariant_risk(test::round_problem(kDimension, kNoise), AttentionKind::softmax, kLength);
  const RiskPoint point = risk->at(test::round_point(kDimension, 0.7, 1.1));
  const Matrix A = point.gradient.head(kDimension * kDimension).reshaped(kDimension, kDimension);
  const double size = std::hypot(slope_a, slope_b);
  EXPECT_NEAR(point.value, planar.at(a, b).value.convert_to<double>(), 1e-9);
  EXPECT_NEAR(A.trace(), slope_a, kGradient * size);
  EXPECT_NEAR(point.gradient[A.size()], slope_b, kGradient * size);
  EXPECT_LE((A - A(0, 0) * Matrix::Identity(kDimension, kDimension)).norm(), kGradient * size);
  std::printf("differences: %.2e and %.2e of %.3g\n", A.trace() - slope_a, point.gradient[A.size()] - slope_b,
              size);
}

}  // namespace
}  // namespace largo::risk_gradient_test
