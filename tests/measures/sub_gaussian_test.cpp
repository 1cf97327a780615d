// Sub-Gaussian constants: Λ(a) - <a,m> ≤ σ²‖a‖²/2 everywhere, and nearly equal somewhere for the laws whose
// header says that σ is the smallest possible.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "largo/measures/coordinate_law.hpp"
#include "largo/measures/product.hpp"
#include "measures/catalogue.hpp"

namespace largo::sub_gaussian_test {
namespace {

using test::Case;

constexpr double kSlack = 1e-12;     // relative: rounding of Λ where equality holds for every a (Gaussian)
constexpr double kRounding = 4e-15;  // Λ and <a,m> are rounded relative to their own sizes
constexpr double kAttained = 0.99;   // share of σ² reached on a grid whose sizes grow by a tenth
// The grid has 1/300 to 300 standard directions: small for the limit at zero, large for elliptical laws.
constexpr double kSmallest = 1.0 / 300;
constexpr double kLargest = 300;
constexpr double kGrowth = 1.1;

class SubGaussian : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Laws, SubGaussian, ::testing::ValuesIn(test::catalogue()), test::case_name);

/// Random directions, the axes and the principal axes, with both signs and unit length.
std::vector<Vector> unit_directions(const Measure& law) {
  const std::ptrdiff_t d = law.dimension();
  std::vector<Vector> all;
  const Eigen::SelfAdjointEigenSolver<Matrix> principal(law.covariance());
  for (std::ptrdiff_t i = 0; i < d; ++i) {
    all.emplace_back(Vector::Unit(d, i));
    all.emplace_back(principal.eigenvectors().col(i));
  }
  for (std::uint64_t id = 200; id < 210; ++id) all.push_back(test::random_matrix(id, d, 1).normalized());
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) all.push_back(-all[i]);
  return all;
}

TEST_P(SubGaussian, BoundsEveryScoreAndIsAttainedWhereItIsTheSmallest) {
  const Measure& law = *GetParam().law;
  const double sigma = law.sub_gaussian_constant();
  const double proxy = sigma * sigma;
  const Vector mean = law.mean();
  double largest = 0;
  for (const Vector& along : unit_directions(law)) {
    for (double size = kSmallest; size <= kLargest; size *= kGrowth) {
      const double value = law.log_partition(size * along);
      const double linear = size * along.dot(mean);
      const double rounding = kRounding * (1 + std::abs(value) + std::abs(linear));
      ASSERT_LE(value - linear, proxy * size * size / 2 * (1 + kSlack) + rounding)
          << "size " << size << " along " << along.transpose();
      if (size > 0.01) largest = std::max(largest, 2 * (value - linear) / (size * size));
    }
  }
  if (GetParam().constant == test::Constant::smallest) {
    EXPECT_GE(largest, kAttained * proxy);
  }
}

TEST(SubGaussianConstant, ClosedForms) {
  EXPECT_DOUBLE_EQ(rademacher(2)->sub_gaussian_constant(), 2);
  EXPECT_DOUBLE_EQ(uniform(3)->sub_gaussian_constant(), std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(centred_bernoulli(0.5)->sub_gaussian_constant(), 0.5);
  // Kearns and Saul's formula and its series meet at |p - 1/2| = 1e-4.
  EXPECT_NEAR(centred_bernoulli(0.5 + 0.99e-4)->sub_gaussian_constant(),
              centred_bernoulli(0.5 + 1.01e-4)->sub_gaussian_constant(), 1e-9);
  // With a mass of at least 1/3 the kurtosis is at most 3, and σ² is the variance.
  EXPECT_NEAR(three_point(2, 0.5)->sub_gaussian_constant(), std::sqrt(2.0), 1e-12);
  // A Laplace law that is truncated far out is still bounded, hence sub-Gaussian, with a σ² that is larger
  // than its variance.
  const CoordinateLawPtr laplace = truncated_laplace(1, 50);
  EXPECT_GT(laplace->sub_gaussian_constant(), 1.1 * std::sqrt(laplace->cumulants(0).curvature));
  EXPECT_LE(laplace->sub_gaussian_constant(), 50);
}

// A fine scan of 2λ/a² finds the supremum that the constant claims, and nothing above it.
TEST(SubGaussianConstant, IsTheSupremumOnTheLine) {
  for (const CoordinateLawPtr& law :
       {three_point(1, 0.3), three_point(3, 0.01), three_point(1, 1e-6), truncated_laplace(1, 2),
        truncated_laplace(0.3, 20), centred_bernoulli(0.01), centred_bernoulli(0.9)}) {
    const double sigma = law->sub_gaussian_constant();
    double largest = 0;
    for (double a = 1e-2; a < 1e4; a *= 1.002) {
      for (const double sign : {-1.0, 1.0}) {
        largest = std::max(largest, 2 * law->cumulants(sign * a).value / (a * a));
      }
    }
    EXPECT_LE(largest, sigma * sigma * (1 + 1e-10));
    EXPECT_GE(largest, sigma * sigma * (1 - 1e-3));
  }
}

// The constant has the unit of the tokens, whatever that is.
TEST(SubGaussianConstant, ScalesWithTheLaw) {
  for (const double unit : {1e-300, 1e-200, 1e-5, 1e5, 1e200, 1e300}) {
    EXPECT_NEAR(three_point(unit, 0.01)->sub_gaussian_constant() / unit,
                three_point(1, 0.01)->sub_gaussian_constant(), 1e-12);
    EXPECT_NEAR(truncated_laplace(0.3 * unit, 20 * unit)->sub_gaussian_constant() / unit,
                truncated_laplace(0.3, 20)->sub_gaussian_constant(), 1e-9);
    EXPECT_NEAR(truncated_laplace(20 * unit, 0.3 * unit)->sub_gaussian_constant() / unit,
                truncated_laplace(20, 0.3)->sub_gaussian_constant(), 1e-9);
  }
  EXPECT_GT(three_point(1e-308, 0.5)->sub_gaussian_constant(), 0);
}

// If the law is cut off far beyond its scale, the cut decides: λ(a) ≈ (a - 1/scale) bound for a > 1/scale, so
// that 2λ(a)/a² is at most bound scale/2, near a = 2/scale, up to a logarithm.
TEST(SubGaussianConstant, OfALaplaceLawCutFarOut) {
  for (const double ratio : {1e6, 1e10, 1e100}) {
    const double sigma = truncated_laplace(1e-5, ratio * 1e-5)->sub_gaussian_constant();
    EXPECT_NEAR(sigma * sigma / (ratio * 1e-10 / 2), 1, 1e-4);
  }
}

}  // namespace
}  // namespace largo::sub_gaussian_test
