#include "largo/icl/named_problem.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace largo::published_experiment_test {
namespace {

TEST(PublishedExperiment, Problems) {
  // 16 Σ and 256 Σ²
  const Matrix S{{16, 8, 4, 2, 1}, {8, 16, 8, 4, 2}, {4, 8, 16, 8, 4}, {2, 4, 8, 16, 8}, {1, 2, 4, 8, 16}};
  const Matrix S2{{341, 298, 212, 136, 80},
                  {298, 404, 328, 224, 136},
                  {212, 328, 416, 328, 212},
                  {136, 224, 328, 404, 298},
                  {80, 136, 212, 298, 341}};
  const Matrix I = Matrix::Identity(5, 5);
  for (const PublishedData data : {PublishedData::paper, PublishedData::code}) {
    const bool paper = data == PublishedData::paper;
    const RegressionProblem problem = published_problem(data);
    EXPECT_EQ(problem.covariance, paper ? Matrix(S / 16) : Matrix(S2 / 256));
    EXPECT_EQ(problem.query_covariance, paper ? Matrix(S / 16) : I);
    EXPECT_LE((problem.prior_covariance - 0.2 * I).norm(), 1e-16);
    EXPECT_EQ(problem.noise_variance, 0.1);
    EXPECT_DOUBLE_EQ(problem.score_scale, 0.40824829046386302);  // 1/√6
    EXPECT_DOUBLE_EQ(problem.null_risk(), 0.5);
    EXPECT_NO_THROW(check(problem));
  }
  const RegressionProblem small = published_problem(PublishedData::code, 2);
  EXPECT_EQ(small.covariance, (Matrix{{1.25, 1}, {1, 1.25}}));
  EXPECT_EQ(small.prior_covariance, (Matrix{{0.5, 0}, {0, 0.5}}));
  EXPECT_DOUBLE_EQ(small.score_scale, 1 / std::sqrt(3.0));
}

TEST(PublishedExperiment, Lengths) {
  EXPECT_EQ(published_lengths(), (std::vector<double>{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400,
                                                      500, 600, 700, 800, 900, 1000}));
}

TEST(PublishedExperiment, Start) {
  for (const Eigen::Index d : {1, 5, 9}) {
    const Vector start = random_factored_start(d, 3);
    const Eigen::Index n = d + 1;
    const double bound = 1 / std::sqrt(static_cast<double>(n));
    ASSERT_EQ(start.size(), 3 * n * n + n);
    EXPECT_LT(start.cwiseAbs().maxCoeff(), bound);
    EXPECT_EQ(random_factored_start(d, 3), start);
    EXPECT_NE(random_factored_start(d, 4), start);
    // Uniform numbers have mean 0 and mean square 1/3 of the bound's. Allows 4 standard errors, for 14, 114
    // and 310 numbers.
    const Eigen::ArrayXd u = start.array() / bound;
    const auto count = static_cast<double>(start.size());
    EXPECT_LE(std::abs(u.mean()), 4 / std::sqrt(3 * count));
    EXPECT_NEAR(u.square().mean(), 1.0 / 3, 4 * std::sqrt((1.0 / 5 - 1.0 / 9) / count));
  }
}

}  // namespace
}  // namespace largo::published_experiment_test
