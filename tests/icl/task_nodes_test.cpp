// Risks over nodes: against sums from the definition, at all SIMD levels and thread counts, and near the
// invariant set.
#include <gtest/gtest.h>

#include <cmath>

#include "icl/regression_settings.hpp"
#include "icl/risk_statistics.hpp"
#include "icl/task_points.hpp"
#include "largo/icl/exact_risk.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"

namespace largo::task_nodes_test {
namespace {

using test::kInfinity;

// ½ [ (c - y)² + c² φ + κ p ] + c y p with Γ_w as a matrix, averaged over the points and both signs of w.
double risk_by_definition(const RegressionProblem& problem, double L, const RegressionParameters& given,
                          const TaskNodes& nodes) {
  const Eigen::Index d = problem.dimension();
  const Matrix P = numerics::covariance_root("test", "prior", problem.prior_covariance).root;
  const Matrix Q = numerics::covariance_root("test", "query", problem.query_covariance).root;
  const auto points = icl::task_points(P.cols(), Q.cols(), nodes.count, nodes.seed);
  const auto table = SoftmaxTable::shared(L);
  double risk = 0;
  for (Eigen::Index i = 0; i < points->points.rows(); ++i) {
    for (const double sign : {1.0, -1.0}) {
      const Vector w = sign * P * points->points.row(i).head(P.cols()).transpose();
      Vector x = Vector::Zero(d + 1);
      x.head(d) = Q * points->points.row(i).tail(Q.cols()).transpose();
      Matrix gamma(d + 1, d + 1);
      const Vector side = problem.covariance * w;
      gamma << problem.covariance, side, side.transpose(), w.dot(side) + problem.noise_variance;
      const Vector u = problem.score_scale * given.U * x;
      const double square = u.dot(gamma * u), c = given.v.dot(gamma * u),
                   kappa = given.v.dot(gamma * given.v);
      const double y = w.dot(x.head(d));
      const icl::RiskStatistics f = icl::risk_statistics(*table, square);
      risk +=
          0.5 * points->weights[i] * (0.5 * ((c - y) * (c - y) + c * c * f.phi + kappa * f.p) + c * y * f.p);
    }
  }
  return risk;
}

TEST(TaskNodes, AreSummedAsDefined) {
  const TaskNodes nodes{1024, 3};
  for (const Eigen::Index d : {1, 2, 5, 7}) {  // loops over coordinates have a tail of every size
    const RegressionProblem problem = test::random_problem(static_cast<std::uint64_t>(d), d);
    for (const double L : {3.0, 200.0}) {
      for (const double size : {1.0, 40.0}) {  // the second is beyond the end of the table
        RegressionParameters given = test::random_parameters(7, d);
        given.U *= size;
        const double expected = risk_by_definition(problem, L, given, nodes);
        const double risk =
            general_risk(problem, AttentionKind::softmax, L, nodes)->at(to_vector(given)).value;
        EXPECT_NEAR(risk, expected, 1e-6 * expected) << d << ' ' << L << ' ' << size;  // table's error
      }
    }
  }
}

TEST(TaskNodes, SameBitsAtEveryLevelAndForAnyThreads) {
  const std::string level = simd_level();
  const RegressionProblem problem = test::random_problem(2, 3);
  const Vector at = to_vector(test::random_parameters(2, 3));
  const auto point = [&](int threads) {
    return general_risk(problem, AttentionKind::softmax, 50, {2048, 1}, {.threads = threads})->at(at);
  };
  const RiskPoint expected = point(1);
  for (const std::string& other : simd_levels()) {
    force_simd_level(other);
    for (const int threads : {1, 3}) {
      const RiskPoint found = point(threads);
      EXPECT_EQ(found.value, expected.value) << other;
      EXPECT_EQ(found.error, expected.error) << other;
      EXPECT_EQ(found.gradient, expected.gradient) << other;
    }
  }
  force_simd_level(level);
}

// Pairs of a large task and a large query carry R_L - R_∞. Plain points (kStretch = 0 in task_points.cpp)
// miss them: the root mean square of these errors is then 1.5e-3 of the risk.
TEST(TaskNodes, SeeRarePairs) {
  constexpr int kSeeds = 8;
  const RegressionProblem problem = test::random_problem(1, 1);
  RegressionParameters given = test::random_parameters(1, 1);
  given.U *= 2;
  const double expected = exact_risk(problem, 1e6, given).value;
  double squares = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const auto risk = general_risk(problem, AttentionKind::softmax, 1e6, {4096, seed});
    squares += std::pow(risk->at(to_vector(given)).value / expected - 1, 2);
  }
  EXPECT_LE(std::sqrt(squares / kSeeds), 2e-4);
}

// Terms that are odd in w cancel between its signs, to the last bit.
TEST(TaskNodes, KeepTheInvariantSet) {
  const Eigen::Index d = 3;
  const auto map = invariant_map(d);
  const Vector at = map->map(test::random_invariant(5, d));
  const Vector gradient =
      general_risk(test::random_problem(5, d), AttentionKind::softmax, 100)->at(at).gradient;
  EXPECT_EQ(map->map(map->pull_back(at, gradient)), gradient);
  EXPECT_GT(gradient.norm(), 0.1);
}

// Near the invariant set, most of regression_risk() comes from exact values. It is compared with plain
// averages over 16 independent shifts, at z = 4, and has a far smaller error.
TEST(RegressionRisk, BesideTheInvariantSet) {
  constexpr int kShifts = 16;
  const Eigen::Index d = 3;
  const RegressionProblem problem = test::random_problem(6, d);
  const double L = 40;
  const Vector inside = invariant_map(d)->map(test::random_invariant(6, d));
  for (const double away : {0.02, 0.3, 1.0}) {
    const Vector at = inside + away * to_vector(test::random_parameters(6, d));
    const Estimate risk =
        regression_risk(problem, AttentionKind::softmax, L, to_parameters(at, d), {4096, 1});
    double mean = 0, squares = 0;
    for (int i = 0; i < kShifts; ++i) {
      const TaskNodes nodes{16384, static_cast<std::uint64_t>(100 + i)};
      const double value = general_risk(problem, AttentionKind::softmax, L, nodes)->at(at).value;
      const double change = value - mean;
      mean += change / (i + 1);
      squares += change * (value - mean);
    }
    const double error = std::sqrt(squares / (kShifts * (kShifts - 1)));
    EXPECT_LE(std::abs(risk.value - mean), 4 * std::hypot(error, risk.error)) << away;
    const RiskPoint plain = general_risk(problem, AttentionKind::softmax, L, {4096, 1})->at(at);
    EXPECT_LE(risk.error, (away < 0.1 ? 1e-3 : 2) * plain.error) << away;
  }
}

// Where scores are large, R_∞ and the invariant point do not help; one token's risk does not depend on U.
TEST(RegressionRisk, OfLargeScores) {
  const Eigen::Index d = 2;
  const RegressionProblem problem = test::random_problem(3, d);
  RegressionParameters given = test::random_parameters(3, d);
  const TaskNodes nodes{65536, 1};
  const Estimate expected = regression_risk(problem, AttentionKind::softmax, 1, given, nodes);
  for (const double size : {1e2, 1e4}) {
    RegressionParameters large = given;
    large.U *= size;
    const Estimate risk = regression_risk(problem, AttentionKind::softmax, 1, large, nodes);
    EXPECT_NEAR(risk.value, expected.value, 4 * (risk.error + expected.error)) << size;
    EXPECT_LE(risk.error, 0.1 * risk.value) << size;
    EXPECT_GE(regression_risk(problem, AttentionKind::softmax, 10, large, nodes).value, 0) << size;
  }
  given.U *= 1e9;
  EXPECT_THROW(regression_risk(problem, AttentionKind::softmax, 10, given, nodes), InputError);
}

// Above 32 dimensions R_∞ is exact and nodes average the rest: long prompts approach the infinite one.
TEST(RegressionRisk, OfManyDimensions) {
  const Eigen::Index d = 34;
  const RegressionProblem problem = test::round_problem(d);
  RegressionParameters given{Matrix::Zero(d + 1, d + 1), Vector::Unit(d + 1, d)};
  given.U.topLeftCorner(d, d) = 0.05 * Matrix::Identity(d, d);
  given.U(d, 0) = 0.02;
  const TaskNodes nodes{4096, 1};
  const double limit = regression_risk(problem, AttentionKind::softmax, test::kInfinity, given, nodes).value;
  const Estimate risk = regression_risk(problem, AttentionKind::softmax, 1e6, given, nodes);
  EXPECT_LE(std::abs(risk.value - limit), 1e-3 * limit);
  EXPECT_LE(risk.error, 1e-4 * limit);
  const Estimate other = regression_risk(problem, AttentionKind::softmax, 1e6, given, {4096, 2});
  EXPECT_LE(std::abs(risk.value - other.value), risk.error + other.error);
  given.U *= 1e3;  // R_∞ does not help here
  const Estimate large = regression_risk(problem, AttentionKind::softmax, 10, given, nodes);
  EXPECT_LE(large.error, 0.1 * large.value);
}

TEST(RegressionRisk, OfNothingToPredictAndOfBadProblems) {
  RegressionProblem problem = test::random_problem(3, 2);
  const RegressionParameters given = test::random_parameters(3, 2);
  EXPECT_THROW(regression_risk(problem, AttentionKind::softmax, 0.5, given), InputError);
  EXPECT_THROW(regression_risk(problem, AttentionKind::softmax, 5, test::random_parameters(3, 3)),
               InputError);
  problem.query_covariance = problem.prior_covariance = Matrix::Zero(2, 2);
  const Estimate risk = regression_risk(problem, AttentionKind::softmax, 5, given, {512, 1});
  EXPECT_TRUE(std::isfinite(risk.value) && risk.value >= 0);
  problem.prior_covariance = Matrix::Identity(3, 3);
  EXPECT_THROW(regression_risk(problem, AttentionKind::softmax, 5, given), InputError);
}

}  // namespace
}  // namespace largo::task_nodes_test
