// Flows of in-context regression against theory: limits, conserved balances and stationary points.
#include "largo/icl/regression_flow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "icl/differences.hpp"
#include "icl/planar_risk.hpp"
#include "icl/regression_settings.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/runtime/check.hpp"

namespace largo::regression_flow_test {
namespace {

using test::kInfinity;
using test::random_matrix;

// A random orthogonal matrix, by Gram and Schmidt.
Matrix random_rotation(std::uint64_t id, Eigen::Index d) {
  Matrix Q = random_matrix(id, d, d);
  for (int round = 0; round < 2; ++round) {
    for (Eigen::Index j = 0; j < d; ++j) {
      for (Eigen::Index k = 0; k < j; ++k) Q.col(j) -= Q.col(k).dot(Q.col(j)) * Q.col(k);
      Q.col(j).normalize();
    }
  }
  return Q;
}

// Eigenvalues and their inverses are known, so that the oracle needs no factorisation.
struct RandomStart {
  RegressionProblem problem;
  InvariantPoint start, limit;
};

RandomStart random_start(std::uint64_t id) {
  const auto d = static_cast<Eigen::Index>(2 + id % 9);
  const Matrix uniforms = (random_matrix(5000 + 4 * id, d + 2, 1).array().tanh() + 1) / 2;
  const double condition = std::pow(100.0, uniforms(0, 0));
  Vector eigenvalues(d);
  for (Eigen::Index j = 0; j < d; ++j) eigenvalues[j] = std::pow(condition, -uniforms(2 + j, 0));
  eigenvalues[0] = 1;
  eigenvalues[d - 1] = 1 / condition;
  eigenvalues *= 0.5 + static_cast<double>(id % 5);
  const Matrix Q = random_rotation(5001 + 4 * id, d);
  const Matrix covariance = Q * eigenvalues.asDiagonal() * Q.transpose();
  RandomStart made{paper_problem(0.5 * (covariance + covariance.transpose())), {}, {}};
  const double alpha = (0.2 + 0.75 * uniforms(1, 0)) * std::sqrt(2.0) /
                       (std::pow(static_cast<double>(d), 0.25) * eigenvalues.maxCoeff());
  made.start = paper_start(made.problem, alpha, random_matrix(5002 + 4 * id, d, d));
  const double trace = eigenvalues.array().square().inverse().sum();  // tr Σ^-2
  made.limit = {std::pow(trace, -0.25) * Q * eigenvalues.cwiseInverse().asDiagonal() * Q.transpose(),
                std::pow(trace, 0.25)};
  return made;
}

void expect_theorem(std::uint64_t starts) {
  double largest = 0, drift = 0;
  for (std::uint64_t id = 0; id < starts; ++id) {
    SCOPED_TRACE(::testing::Message() << "start " << id);
    const RandomStart given = random_start(id);
    EXPECT_LE(given.start.b, largest_admissible_alpha(given.problem));
    const RegressionFlow flow =
        regression_flow(given.problem, AttentionKind::softmax, kInfinity, given.start);
    EXPECT_TRUE(flow.flow.stationary);
    const double size = std::hypot(given.limit.A.norm(), given.limit.b);
    const double error = std::hypot((flow.last.A - given.limit.A).norm(), flow.last.b - given.limit.b) / size;
    EXPECT_LE(error, 1e-6);
    largest = std::max(largest, error);
    // ‖A‖² - b² = 0 is kept to the tolerance of the squares (1e-9 per step).
    ASSERT_EQ(flow.flow.drift.size(), 1U);
    EXPECT_LE(flow.flow.drift[0], 1e-7 * size * size);
    drift = std::max(drift, flow.flow.drift[0] / (size * size));
    const InvariantPoint limit = infinite_limit(given.problem);
    EXPECT_LE((limit.A - given.limit.A).norm() + std::abs(limit.b - given.limit.b), 1e-10 * size);
  }
  if (std::getenv("LARGO_LONG_TESTS") != nullptr) {
    std::printf("largest error %.2e, largest drift %.2e\n", largest, drift);
  }
}

TEST(RegressionFlow, EndsAtTheLimit) { expect_theorem(30); }

TEST(RegressionFlow, EndsAtTheLimitFromAHundredStarts) {
  if (std::getenv("LARGO_LONG_TESTS") == nullptr) GTEST_SKIP() << "set LARGO_LONG_TESTS=1";
  expect_theorem(100);
}

// docs/icl.md proves it: neither α nor the rank of Θ matters.
TEST(RegressionFlow, EndsAtTheLimitFromLargeStartsOfRankOne) {
  for (std::uint64_t id = 0; id < 9; ++id) {
    SCOPED_TRACE(::testing::Message() << "start " << id);
    const RandomStart given = random_start(id);
    const Eigen::Index d = given.problem.dimension();
    const double alpha = 30 * largest_admissible_alpha(given.problem);
    const RegressionFlow flow =
        regression_flow(given.problem, AttentionKind::softmax, kInfinity,
                        paper_start(given.problem, alpha, random_matrix(6000 + id, d, 1)),
                        {.relative_tolerance = 1e-11, .absolute_tolerance = 1e-14});
    const double size = std::hypot(given.limit.A.norm(), given.limit.b);
    EXPECT_LE(std::hypot((flow.last.A - given.limit.A).norm(), flow.last.b - given.limit.b), 1e-6 * size);
  }
}

// From A = −αI/√d, which is not of the paper's form, A and b vanish together: with u = b² the flow is u' =
// −2√d u (1 + u/√d), whose solution is known.
TEST(RegressionFlow, MayVanishFromOtherStarts) {
  constexpr double kAlpha = 0.8, kEnd = 1.5, kRoot = 2;  // √d
  const RegressionProblem problem = paper_problem(Matrix::Identity(4, 4));
  const InvariantPoint start{-kAlpha / kRoot * Matrix::Identity(4, 4), kAlpha};
  const RegressionFlow flow =
      regression_flow(problem, AttentionKind::softmax, kInfinity, start, {.end = kEnd});
  const double u = kAlpha * kAlpha, k = u / (1 + u / kRoot) * std::exp(-2 * kRoot * kEnd);
  const double b = std::sqrt(k / (1 - k / kRoot));
  EXPECT_NEAR(flow.last.b, b, 1e-7);
  EXPECT_LE((flow.last.A + b / kRoot * Matrix::Identity(4, 4)).norm(), 1e-7);
}

TEST(RegressionFlow, PaperStart) {
  const RegressionProblem problem = test::random_problem(3, 3);
  const Matrix theta = random_matrix(60, 3, 2);
  const InvariantPoint start = paper_start(problem, 0.4, theta);
  EXPECT_NEAR(start.A.norm(), 0.4, 1e-15);
  EXPECT_EQ(start.b, 0.4);
  EXPECT_NEAR(start.balance(), 0, 1e-15);
  EXPECT_LE((start.A / start.A(0, 0) - theta * theta.transpose() / theta.row(0).squaredNorm()).norm(), 1e-13);
  const InvariantPoint round = paper_start(problem, 0.4);
  EXPECT_LE((round.A - 0.4 / std::sqrt(3.0) * Matrix::Identity(3, 3)).norm(), 1e-15);
  for (const double bad : {0.0, -1.0, kInfinity, std::nan("")}) {
    EXPECT_THROW(paper_start(problem, bad), InputError) << bad;
  }
  EXPECT_THROW(paper_start(problem, 0.4, Matrix::Zero(3, 3)), InputError);
  EXPECT_THROW(paper_start(problem, 0.4, Matrix::Ones(2, 2)), InputError);
  EXPECT_NEAR(largest_admissible_alpha(paper_problem(2 * Matrix::Identity(16, 16))), std::sqrt(2.0) / 4,
              1e-15);
}

// Limits have γ b ΣA = I and the requested balance, and the flow from a start with that balance ends there.
TEST(RegressionFlow, LimitsOfOtherBalances) {
  const RegressionProblem problem = test::random_problem(7, 3);
  for (const double balance : {-30.0, -1.0, 0.0, 0.5, 40.0}) {
    const InvariantPoint limit = infinite_limit(problem, balance);
    EXPECT_LE((problem.score_scale * limit.b * problem.covariance * limit.A - Matrix::Identity(3, 3)).norm(),
              1e-12);
    EXPECT_NEAR(limit.balance(), balance, 1e-12 * (1 + limit.A.squaredNorm()));
    EXPECT_GT(limit.b, 0);
  }
  InvariantPoint start = paper_start(problem, 0.5);
  start.b = 0.9;
  const InvariantPoint limit = infinite_limit(problem, start.balance());
  const RegressionFlow flow = regression_flow(problem, AttentionKind::softmax, kInfinity, start);
  EXPECT_LE((flow.last.A - limit.A).norm() + std::abs(flow.last.b - limit.b), 1e-7);
  RegressionProblem singular = problem;
  singular.covariance = Matrix::Ones(3, 3);
  EXPECT_THROW(infinite_limit(singular), InputError);
  RegressionProblem constant = problem;
  constant.score_scale = 0;
  EXPECT_THROW(infinite_limit(constant), InputError);
  EXPECT_THROW(infinite_limit(problem, std::nan("")), InputError);
}

TEST(RegressionFlow, BestLinearIsAMinimum) {
  for (const double L : {1.0, 20.0, 1e4, kInfinity}) {
    const RegressionProblem problem = test::random_problem(9, 3);
    const InvariantPoint best = best_linear(problem, L);
    EXPECT_NEAR(best.balance(), 0, 1e-12);
    Vector at(10);
    at << best.A.reshaped(), best.b;
    const auto risk = invariant_risk(problem, AttentionKind::linear, L);
    const RiskPoint there = risk->at(at);
    EXPECT_LE(there.gradient.norm(), 1e-12);
    // The risk is convex in bA, so that nothing nearby or far away is better.
    for (std::uint64_t id = 0; id < 20; ++id) {
      for (const double size : {1e-3, 0.1, 1.0}) {
        EXPECT_GE(risk->at(at + size * random_matrix(70 + id, 10, 1)).value, there.value - 1e-14);
      }
    }
    const RegressionFlow flow = regression_flow(problem, AttentionKind::linear, L, paper_start(problem, 0.5));
    EXPECT_LE((flow.last.A - best.A).norm() + std::abs(flow.last.b - best.b), 1e-7) << L;
    EXPECT_LE(flow.flow.drift[0], 1e-7);
  }
}

// Σ = I: the exact flow of (a, b) ends at the stationary point of another integral, found by Newton's method.
TEST(RegressionFlow, RoundProblemsEndWhereNewtonDoes) {
  constexpr int kDimension = 5;
  const RegressionProblem problem = test::round_problem(kDimension);
  const InvariantPoint start = paper_start(problem, 0.5);
  for (const double L : {10.0, 100.0, 1000.0, 1e6}) {
    SCOPED_TRACE(::testing::Message() << "L = " << L);
    const RegressionFlow flow = regression_flow(problem, AttentionKind::softmax, L, start);
    ASSERT_TRUE(flow.flow.stationary);
    EXPECT_EQ(flow.map->size(), 2);
    const test::PlanarMinimum best = test::minimise(test::planar_risk(kDimension, 0, L), 0.6, 1.2);
    EXPECT_NEAR(flow.last.A(0, 0), best.a, 1e-8);
    EXPECT_NEAR(flow.last.b, best.b, 1e-8);
    EXPECT_NEAR(flow.flow.last.value, best.risk, 1e-10 * best.risk);
    if (std::getenv("LARGO_LONG_TESTS") != nullptr) {
      std::printf("L %.0e: %.3e %.3e\n", L, flow.last.A(0, 0) - best.a, flow.last.b - best.b);
    }
  }
  const RegressionFlow flow = regression_flow(problem, AttentionKind::softmax, kInfinity, start);
  EXPECT_NEAR(flow.last.A(0, 0), std::pow(5.0, -0.25), 1e-8);
  EXPECT_NEAR(flow.last.b, std::pow(5.0, 0.25), 1e-8);
}

}  // namespace
}  // namespace largo::regression_flow_test
