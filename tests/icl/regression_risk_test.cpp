// regression_risk() and PredictionDistance at any (U, v).
#include <gtest/gtest.h>

#include <cmath>

#include "icl/prediction_distance.hpp"
#include "icl/regression_settings.hpp"
#include "largo/icl/regression_risk.hpp"

namespace largo::regression_risk_test {
namespace {

using test::kInfinity;

// For quasi-Monte-Carlo, whose error is the spread of eight parts and so is known only to a factor of two.
// There are 12 comparisons.
constexpr double kLargestZ = 6;
constexpr double kTable = 1e-6;  // error that the table of softmax moments makes in a risk of order one
constexpr double kRounding = 1e-12;

RegressionParameters invariant_parameters(std::uint64_t id, Eigen::Index d) {
  const Vector values = test::random_invariant(id, d);
  RegressionParameters parameters{Matrix::Zero(d + 1, d + 1), Vector::Zero(d + 1)};
  parameters.U.topLeftCorner(d, d) = values.head(d * d).reshaped(d, d);
  parameters.v[d] = values[d * d];
  return parameters;
}

// Slightly off the invariant set the other method is used, and the risk, which is even, is the same.
TEST(RegressionRisk, TwoMethodsAgree) {
  for (const Eigen::Index d : {1, 2, 4}) {
    const RegressionProblem problem = test::random_problem(static_cast<std::uint64_t>(d), d);
    const RegressionParameters on = invariant_parameters(static_cast<std::uint64_t>(d), d);
    RegressionParameters off = on;
    off.U(d, 0) = 1e-9;
    for (const double L : {1.0, 5.0, 200.0, 1e9}) {
      SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L);
      const Estimate exact = regression_risk(problem, AttentionKind::softmax, L, on);
      const Estimate average = regression_risk(problem, AttentionKind::softmax, L, off, {.count = 4096});
      EXPECT_NEAR(average.value, exact.value, kLargestZ * average.error + exact.error + kTable);
      EXPECT_LE(average.error, 0.05 * exact.value);
      EXPECT_LE(exact.error, 1e-8 * exact.value);
    }
    for (const double L : {5.0, kInfinity}) {
      const AttentionKind kind = std::isinf(L) ? AttentionKind::softmax : AttentionKind::linear;
      EXPECT_NEAR(regression_risk(problem, kind, L, off).value, regression_risk(problem, kind, L, on).value,
                  kRounding);
    }
  }
}

// The last column of U plays no role, on the invariant set or off it.
TEST(RegressionRisk, QueriesHaveNoLabel) {
  const RegressionProblem problem = test::random_problem(5, 2);
  for (const bool invariant : {true, false}) {
    RegressionParameters one = invariant ? invariant_parameters(5, 2) : test::random_parameters(5, 2);
    RegressionParameters other = one;
    other.U.col(2) = Vector{{3, -4, 5}};
    const auto risk = [&](const RegressionParameters& at) {
      return regression_risk(problem, AttentionKind::softmax, 10, at, {.count = 512}).value;
    };
    EXPECT_EQ(risk(one), risk(other));
    one.v[2] += 0.1;
    EXPECT_NE(risk(one), risk(other));
  }
}

// One token is the whole prompt: the prediction is <v, z>, which does not depend on the query, and
// R = ½ [v_xᵀΣv_x + v_y² (tr ΣΩ + τ²) + tr ΩΣ_q].
TEST(RegressionRisk, OfOneToken) {
  for (const Eigen::Index d : {2, 3}) {
    const RegressionProblem problem = test::random_problem(7, d);
    const RegressionParameters at = test::random_parameters(7, d);
    const Matrix &S = problem.covariance, &Omega = problem.prior_covariance;
    const double label = (S * Omega).trace() + problem.noise_variance;
    const double expected = (at.v.head(d).dot(S * at.v.head(d)) + at.v[d] * at.v[d] * label +
                             (Omega * problem.query_covariance).trace()) /
                            2;
    const Estimate risk = regression_risk(problem, AttentionKind::softmax, 1, at, {.count = 4096});
    EXPECT_NEAR(risk.value, expected, kLargestZ * risk.error + kTable);
    EXPECT_LT(risk.error, 0.05 * expected);
  }
}

// E |p(w) - p'(w)|² in the metric Σ_q, where p(w) = γ U_xᵀ Γ_w v is the weight of x_q in the prediction. It
// is quadratic in w, so that a rule of three nodes in each of two coordinates is exact.
double distance_by_hand(const RegressionProblem& problem, const Matrix& prior_root,
                        const RegressionParameters& one, const RegressionParameters& two) {
  const auto weights = [&](const RegressionParameters& at, const Vector& w) {
    Matrix Gamma(3, 3);
    const Matrix& S = problem.covariance;
    Gamma << S, S * w, (S * w).transpose(), w.dot(S * w) + problem.noise_variance;
    return Vector(problem.score_scale * (at.U.transpose() * Gamma * at.v).head(2));
  };
  double square = 0;
  for (const int i : {-1, 0, 1}) {
    for (const int j : {-1, 0, 1}) {
      const Vector w = prior_root * std::sqrt(3.0) * Vector{{static_cast<double>(i), static_cast<double>(j)}};
      const Vector difference = weights(one, w) - weights(two, w);
      const double weight = (i == 0 ? 2.0 / 3 : 1.0 / 6) * (j == 0 ? 2.0 / 3 : 1.0 / 6);
      square += weight * difference.dot(problem.query_covariance * difference);
    }
  }
  return std::sqrt(square);
}

TEST(PredictionDistance, IsTheMeanSquare) {
  RegressionProblem problem = test::random_problem(6, 2);
  const Matrix prior_root = test::random_matrix(80, 2, 2);
  problem.prior_covariance = prior_root * prior_root.transpose();
  const RegressionParameters anywhere = test::random_parameters(6, 2),
                             elsewhere = test::random_parameters(7, 2);
  const RegressionParameters on = invariant_parameters(6, 2), also_on = invariant_parameters(8, 2);
  const auto expect_distance = [&](const RegressionParameters& one, const RegressionParameters& two) {
    const double distance = icl::PredictionDistance(problem)(one, two);
    EXPECT_GT(distance, 1e-3);
    EXPECT_NEAR(distance, distance_by_hand(problem, prior_root, one, two), kRounding);
    EXPECT_EQ(distance, icl::PredictionDistance(problem)(two, one));
    EXPECT_EQ(icl::PredictionDistance(problem)(one, one), 0);
  };
  expect_distance(anywhere, elsewhere);
  expect_distance(anywhere, on);
  expect_distance(on, also_on);
  problem.score_scale = -2;
  expect_distance(anywhere, on);
  expect_distance(on, also_on);
  problem.score_scale = 0;
  EXPECT_EQ(icl::PredictionDistance(problem)(anywhere, on), 0);
}

}  // namespace
}  // namespace largo::regression_risk_test
