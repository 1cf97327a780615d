// The assumptions about a regression, averaged over its tasks, against simulation and closed forms.
#include "largo/icl/task_assumptions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "largo/icl/law_regression.hpp"
#include "largo/icl/mixture_classification.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "support/sampled_mean.hpp"

namespace largo::task_assumptions_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Assumption row(const std::vector<Assumption>& rows, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Assumption& one) { return one.name == name; });
  EXPECT_NE(found, rows.end()) << name;
  return *found;
}

RegressionProblem small_tasks(Eigen::Index d) {
  RegressionProblem problem;
  problem.covariance = Matrix::Identity(d, d);
  problem.covariance(0, d - 1) = problem.covariance(d - 1, 0) = d > 1 ? 0.4 : 1;
  problem.query_covariance = 0.5 * Matrix::Identity(d, d);
  problem.prior_covariance = 0.05 * Matrix::Identity(d, d);
  problem.noise_variance = 0.2;
  problem.score_scale = 0.7;
  return problem;
}

Matrix some_scores(Eigen::Index size) {
  Matrix U = 0.3 * Matrix::Identity(size, size);
  U(size - 1, 0) = 0.4;
  U(0, size - 1) = 9;  // has no effect: queries have no label
  return U;
}

/// E‖z'‖^k: draws a task, a query, and a token of the tilted law, whose covariates are N(Σ(u₁ + u₂ w), Σ) and
/// whose noise is N(τ² u₂, τ²).
test::SampledMean simulated_moment(const RegressionProblem& problem, const Matrix& U, int k) {
  constexpr int kDraws = 400000;
  const Eigen::Index d = problem.dimension();
  const Matrix root = problem.covariance.llt().matrixL();
  Matrix draws(3 * d + 1, kDraws);
  Stream(7, 0).normals(0, {draws.data(), static_cast<std::size_t>(draws.size())});
  test::SampledMean simulated;
  for (int i = 0; i < kDraws; ++i) {
    const Vector w = std::sqrt(problem.prior_covariance(0, 0)) * draws.col(i).head(d);
    const Vector query = std::sqrt(problem.query_covariance(0, 0)) * draws.col(i).segment(d, d);
    const Vector u = problem.score_scale * U.leftCols(d) * query;
    const Vector x = problem.covariance * (u.head(d) + u[d] * w) + root * draws.col(i).segment(2 * d, d);
    const double noise = problem.noise_variance * u[d] + std::sqrt(problem.noise_variance) * draws(3 * d, i);
    simulated.add(std::pow(x.squaredNorm() + std::pow(w.dot(x) + noise, 2), k / 2));
  }
  return simulated;
}

// Five standard errors: false alarms 6e-7 for each of the four comparisons.
TEST(TaskAssumptions, MomentsOfGaussianRegressionAreExact) {
  for (const Eigen::Index d : {1, 3}) {
    const RegressionProblem problem = small_tasks(d);
    const Matrix U = some_scores(d + 1);
    const auto rows = task_assumptions(problem, U);
    for (const int k : {4, 8}) {
      const Assumption found = row(rows, "tilted_moment_" + std::to_string(k));
      const test::SampledMean simulated = simulated_moment(problem, U, k);
      EXPECT_EQ(found.kind, ValueKind::exact);
      EXPECT_LE(std::abs(*found.value - simulated.value()), 5 * simulated.error())
          << "d = " << d << ", order " << k;
      EXPECT_LE(simulated.error(), 0.05 * simulated.value());
    }
  }
}

TEST(TaskAssumptions, MomentsOfManyDimensionsAreBounds) {
  const RegressionProblem problem = small_tasks(6);
  const Matrix U = some_scores(7);
  const auto rows = task_assumptions(problem, U);
  for (const int k : {4, 8}) {
    const Assumption found = row(rows, "tilted_moment_" + std::to_string(k));
    EXPECT_EQ(found.kind, ValueKind::at_most);
    EXPECT_EQ(found.holds, Holds::yes);
    EXPECT_GE(*found.value, simulated_moment(problem, U, k).value());
  }
}

// The same laws, not recognised as Gaussian because the prior is written as one with a mean of next to
// nothing.
TEST(TaskAssumptions, BoundsOfOtherLawsAreAboveTheExactMoments) {
  const RegressionProblem problem = small_tasks(2);
  const auto gaussian = [](const Matrix& covariance, double mean) {
    return std::make_shared<GaussianMeasure>(Vector::Constant(covariance.rows(), mean), covariance);
  };
  RegressionLaws laws;
  laws.covariates = gaussian(problem.covariance, 0);
  laws.queries = gaussian(problem.query_covariance, 0);
  laws.prior = gaussian(problem.prior_covariance, 1e-300);
  laws.noise = gaussian(Matrix::Constant(1, 1, problem.noise_variance), 0);
  const InContextProblem other{std::make_shared<LawRegression>(laws), squared_loss(), problem.score_scale};
  const Matrix U = some_scores(3);
  const auto bounds = task_assumptions(other, U), exact = task_assumptions(problem, U);
  for (const char* name : {"tilted_moment_4", "tilted_moment_8"}) {
    EXPECT_EQ(row(bounds, name).kind, ValueKind::at_most);
    EXPECT_GE(*row(bounds, name).value, *row(exact, name).value);
  }
  EXPECT_GE(*row(bounds, "sub_gaussian_given_task").value, *row(exact, "sub_gaussian_given_task").value);
  EXPECT_EQ(row(bounds, "finite_rho").holds, Holds::unknown);
  // Written as Gaussian laws, it is the problem itself.
  laws.prior = gaussian(problem.prior_covariance, 0);
  const InContextProblem same{std::make_shared<LawRegression>(laws), squared_loss(), problem.score_scale};
  EXPECT_EQ(*row(task_assumptions(same, U), "tilted_moment_8").value, *row(exact, "tilted_moment_8").value);
}

TEST(TaskAssumptions, RhoOnAndOffTheInvariantSet) {
  RegressionProblem problem = paper_problem(Matrix::Identity(2, 2));
  Matrix U = Matrix::Zero(3, 3);
  U.topLeftCorner(2, 2) = 0.6 * Matrix::Identity(2, 2);
  const Assumption on = row(task_assumptions(problem, U), "finite_rho");
  EXPECT_EQ(on.holds, Holds::yes);
  EXPECT_EQ(on.kind, ValueKind::exact);
  EXPECT_NEAR(*on.value, -std::log(1 - 0.72), 1e-12);
  U *= 2;
  EXPECT_EQ(row(task_assumptions(problem, U), "finite_rho").holds, Holds::no);
  U.setZero();
  U(2, 0) = 1e-3;
  const Assumption off = row(task_assumptions(problem, U), "finite_rho");
  EXPECT_EQ(off.holds, Holds::no);
  EXPECT_EQ(*off.value, kInfinity);
  // Queries that never have the direction of U21 do not leave the invariant set.
  problem.query_covariance(0, 0) = 0;
  EXPECT_EQ(row(task_assumptions(problem, U), "finite_rho").holds, Holds::yes);
  // Labels that are noise alone have no tasks in them: ln E e^{τ² u₂²}, τ² = 4, u₂ ~ N(0, 0.09).
  problem = paper_problem(Matrix::Identity(2, 2));
  problem.prior_covariance.setZero();
  problem.noise_variance = 4;
  U(2, 0) = 0.3;
  const auto rows = task_assumptions(problem, U);
  EXPECT_NEAR(*row(rows, "finite_rho").value, -0.5 * std::log(1 - 2 * 4 * 0.09), 1e-12);
  EXPECT_EQ(row(rows, "one_sigma_for_all_tasks").holds, Holds::yes);
}

TEST(TaskAssumptions, BoundedTasksHaveOneSigma) {
  RegressionLaws laws;
  laws.covariates = std::make_shared<ProductMeasure>(3, rademacher());
  laws.prior = std::make_shared<SphereMeasure>(3, 2);
  const InContextProblem problem{std::make_shared<LawRegression>(laws), squared_loss(), 1};
  const auto rows = task_assumptions(problem, Matrix::Identity(4, 4));
  EXPECT_EQ(row(rows, "one_sigma_for_all_tasks").holds, Holds::yes);
  EXPECT_DOUBLE_EQ(*row(rows, "one_sigma_for_all_tasks").value, 3);
  EXPECT_NEAR(*row(rows, "task_moment_16").value / std::pow(2, 16), 1, 1e-12);
  // The farthest task decides, however rare it is.
  laws.prior = std::make_shared<MixtureMeasure>(
      Vector{{0.999, 0.001}}, std::vector<MeasurePtr>{std::make_shared<SphereMeasure>(3, 0.1),
                                                      std::make_shared<SphereMeasure>(3, 2)});
  const InContextProblem rare{std::make_shared<LawRegression>(laws), squared_loss(), 1};
  EXPECT_DOUBLE_EQ(*row(task_assumptions(rare, Matrix::Identity(4, 4)), "one_sigma_for_all_tasks").value, 3);
  const auto gaussian = task_assumptions(paper_problem(Matrix::Identity(3, 3)), Matrix::Identity(4, 4));
  EXPECT_EQ(row(gaussian, "one_sigma_for_all_tasks").holds, Holds::no);
  EXPECT_DOUBLE_EQ(*row(gaussian, "sub_gaussian_given_task").value, 6);
  double sixteenth = 1;  // E χ₃^16 = 3 · 5 ⋯ 17
  for (int k = 3; k <= 17; k += 2) sixteenth *= k;
  EXPECT_NEAR(*row(gaussian, "task_moment_16").value / sixteenth, 1, 1e-12);
}

TEST(TaskAssumptions, BadInput) {
  const RegressionProblem problem = paper_problem(Matrix::Identity(2, 2));
  EXPECT_THROW(task_assumptions(problem, Matrix::Identity(2, 2)), InputError);
  EXPECT_THROW(task_assumptions(problem, Matrix::Constant(3, 3, kInfinity)), InputError);
  const InContextProblem classes{std::make_shared<MixtureClassification>(1.0, Matrix::Identity(2, 2)),
                                 logistic_loss(), 1};
  EXPECT_THROW(task_assumptions(classes, Matrix::Identity(3, 3)), InputError);
}

}  // namespace
}  // namespace largo::task_assumptions_test
