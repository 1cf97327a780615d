// Densities against the log-partition of their laws: ∫ e^{ax} f(x) dx = e^{Λ(a)}.
#include "measures/density.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "largo/measures/affine.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "support/gauss_panels.hpp"

namespace largo::density_test {
namespace {

using measures::Edges;
using measures::LawDensity;
using measures::ScalarDensity;

constexpr double kQuadrature = 1e-10;  // panels end where densities jump
constexpr double kFar = 12;

MeasurePtr product(std::ptrdiff_t d, const CoordinateLawPtr& law) {
  return std::make_shared<ProductMeasure>(d, law);
}
MeasurePtr gaussian(double mean, double variance) {
  return std::make_shared<GaussianMeasure>(Vector::Constant(1, mean), Matrix::Constant(1, 1, variance));
}
MeasurePtr image(const Matrix& map, const Vector& offset, const MeasurePtr& law) {
  return std::make_shared<AffineMeasure>(map, offset, law);
}

double density(const LawDensity& law, const Vector& point) {
  return std::exp(law.log(point, Edges::sharp)[0]);
}

TEST(Density, HasTheLogPartitionOfTheLaw) {
  const Matrix minus_half = Matrix::Constant(1, 1, -0.5);
  const MeasurePtr laws[] = {
      gaussian(0.3, 0.7), product(1, uniform(2)), product(1, truncated_laplace(0.7, 4)),
      image(minus_half, Vector::Constant(1, 1), product(1, truncated_laplace(1, 6))),
      std::make_shared<MixtureMeasure>(
          Vector::Constant(3, 1.0 / 3),
          std::vector<MeasurePtr>{gaussian(-1, 0.01), gaussian(1, 2), product(1, uniform(1))})};
  for (const MeasurePtr& law : laws) {
    const std::optional<LawDensity> found = LawDensity::of(*law);
    ASSERT_TRUE(found);
    for (const double a : {0.0, 0.7, -1.3}) {
      // Panels of width 1/8: all edges are multiples of it.
      const double integral = test::gauss_panels<20>(-kFar, kFar, 192, [&](double x) {
        return std::exp(a * x) * density(*found, Vector::Constant(1, x));
      });
      EXPECT_NEAR(std::log(integral), law->log_partition(Vector::Constant(1, a)), kQuadrature) << a;
    }
  }
}

TEST(Density, OfAnImageInThePlane) {
  const Matrix map{{1, 0.5}, {-0.25, 1}};
  const Vector offset{{0.5, -1}};
  const MeasurePtr law = image(map, offset, product(2, truncated_laplace(0.8, 3)));
  const LawDensity found = LawDensity::of(*law).value();
  const Vector a{{0.4, -0.6}};
  // In coordinates in which the edges are straight.
  const double integral = test::gauss_panels<20>(-3, 3, 6, [&](double u) {
    return test::gauss_panels<20>(-3, 3, 6, [&](double v) {
      const Vector z = offset + map * Vector{{u, v}};
      return std::abs(map.determinant()) * std::exp(a.dot(z)) * density(found, z);
    });
  });
  EXPECT_NEAR(std::log(integral), law->log_partition(a), kQuadrature);
}

TEST(Density, SoftEdgesFallOffOutside) {
  const ScalarDensity law = ScalarDensity::of(uniform(2)->pieces()).value();
  const std::vector<double> x = {0, 1.999, 2.2, -4};
  std::vector<double> sharp(4), soft(4);
  law.log(x, sharp, Edges::sharp);
  law.log(x, soft, Edges::soft);
  for (const std::size_t inside : {0, 1}) {
    EXPECT_NEAR(sharp[inside], -std::log(4), 1e-15);
    EXPECT_EQ(sharp[inside], soft[inside]);
  }
  for (const std::size_t outside : {2, 3}) {
    EXPECT_EQ(sharp[outside], -std::numeric_limits<double>::infinity());
    EXPECT_NEAR(soft[outside], -std::log(4) - 10 * (std::abs(x[outside]) / 2 - 1), 1e-13);
  }
}

TEST(Density, NoneForLawsWithoutOne) {
  EXPECT_FALSE(LawDensity::of(*product(2, rademacher())));
  EXPECT_FALSE(LawDensity::of(SphereMeasure(3, 1)));
  EXPECT_FALSE(LawDensity::of(GaussianMeasure(Vector::Zero(2), Matrix{{1, 1}, {1, 1}})));
  EXPECT_FALSE(LawDensity::of(*image(Matrix{{1, 1}}, Vector::Zero(1), product(2, uniform(1)))));
}

TEST(Density, FinitePointsHaveTheMomentsOfTheLaw) {
  const Matrix map{{1, 0.5, 0}, {-0.25, 1, 2}};
  const Vector offset{{0.5, -1}};
  const MeasurePtr signs = image(map, offset, product(3, rademacher(0.7)));
  const MeasurePtr three = product(2, three_point(2, 0.3));
  const MixtureMeasure law(Vector{{0.25, 0.75}}, {signs, three});
  const measures::FinitePoints found = measures::finite_points(law, 17).value();
  EXPECT_EQ(found.points.cols(), 8 + 9);
  EXPECT_NEAR(found.probabilities.sum(), 1, 1e-15);
  const Vector mean = found.points * found.probabilities;
  const Matrix second = found.points * found.probabilities.asDiagonal() * found.points.transpose();
  EXPECT_TRUE(mean.isApprox(law.mean(), 1e-14));
  EXPECT_TRUE((second - mean * mean.transpose()).isApprox(law.covariance(), 1e-14));
  EXPECT_FALSE(measures::finite_points(law, 16));
  EXPECT_FALSE(measures::finite_points(*product(1, uniform(1)), 100));
}

}  // namespace
}  // namespace largo::density_test
