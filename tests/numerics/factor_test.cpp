#include "numerics/factor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "largo/runtime/check.hpp"

namespace largo::factor_test {
namespace {

// Errors of the entries of root rootᵀ, relative to the product of their standard deviations.
constexpr double kRounding = 1e-13;

void expect_root_of(const Matrix& covariance, Eigen::Index rank) {
  const Matrix root = numerics::covariance_root("test", "covariance", covariance).root;
  EXPECT_EQ(root.cols(), rank);
  const Matrix product = root * root.transpose();
  for (Eigen::Index i = 0; i < covariance.rows(); ++i) {
    for (Eigen::Index j = 0; j < covariance.cols(); ++j) {
      const double scale = std::sqrt(covariance(i, i)) * std::sqrt(covariance(j, j));
      EXPECT_NEAR(product(i, j), covariance(i, j), kRounding * scale) << i << ", " << j;
    }
  }
}

TEST(CovarianceRoot, KeepsSmallCoordinates) {
  for (const double small : {1e-6, 1e-13, 1e-20, 1e-150, 1e-300}) {
    expect_root_of(Matrix(Vector{{1, small, 2}}.asDiagonal()), 3);
    // The same with correlations.
    const Vector sizes{{1, std::sqrt(small), 3}};
    Matrix correlations(3, 3);
    correlations << 1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1;
    expect_root_of(sizes.asDiagonal() * correlations * sizes.asDiagonal(), 3);
  }
  EXPECT_NEAR(numerics::covariance_root("test", "covariance", Vector{{1e-30, 4}}.asDiagonal().toDenseMatrix())
                  .largest,
              4, 1e-14);
}

TEST(CovarianceRoot, KeepsSmallDirections) {
  // Variance 2e-14 along (1, -1).
  const double share = 1 - 1e-14;
  Matrix covariance(2, 2);
  covariance << 1, share, share, 1;
  const Matrix root = numerics::covariance_root("test", "covariance", covariance).root;
  ASSERT_EQ(root.cols(), 2);
  EXPECT_NEAR((root.transpose() * Vector{{1, -1}}).squaredNorm(), 2 * (1 - share), 2e-15);
}

TEST(CovarianceRoot, HasTheRankOfSingularMatrices) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (const Eigen::Index d : {2, 5, 20, 60}) {
    for (int trial = 0; trial < 20; ++trial) {
      const Eigen::Index rank = 1 + trial % (d - 1);
      const Matrix factor = Matrix::NullaryExpr(d, rank, [&] { return normal(random); });
      const Matrix covariance = factor * factor.transpose();
      EXPECT_EQ(numerics::covariance_root("test", "covariance", covariance).root.cols(), rank) << d;
    }
  }
  EXPECT_EQ(numerics::covariance_root("test", "covariance", Matrix::Zero(3, 3)).root.cols(), 0);
  // A coordinate that is left over from rounding counts as none.
  Matrix rounded(2, 2);
  rounded << 1, 1e-17, 1e-17, 1e-40;
  EXPECT_EQ(numerics::covariance_root("test", "covariance", rounded).root.cols(), 1);
}

TEST(CovarianceRoot, RefusesWhatIsNoCovariance) {
  Matrix indefinite(2, 2);
  indefinite << 1, 2, 2, 1;
  EXPECT_THROW(numerics::covariance_root("test", "covariance", indefinite), InputError);
  // The same matrix with one coordinate in small units is no covariance either.
  const Vector sizes{{1, 1e-8}};
  EXPECT_THROW(
      numerics::covariance_root("test", "covariance", sizes.asDiagonal() * indefinite * sizes.asDiagonal()),
      InputError);
  EXPECT_THROW(numerics::covariance_root("test", "covariance", Vector{{1, -1}}.asDiagonal().toDenseMatrix()),
               InputError);
  EXPECT_THROW(numerics::covariance_root("test", "covariance", Matrix::Zero(0, 0)), InputError);
}

}  // namespace
}  // namespace largo::factor_test
