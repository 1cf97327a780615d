// The sphere and the ball in cases where a Bessel function would overflow.
#include "largo/measures/sphere.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "measures/catalogue.hpp"

namespace largo::sphere_test {
namespace {

constexpr double kRatio = 1e-12;  // the card of sphere_tilt

TEST(Sphere, DimensionTenThousandDirectionTenThousand) {
  constexpr std::ptrdiff_t kDimension = 10000;
  const Vector unit = test::random_matrix(1, kDimension, 1).normalized();
  for (const double size : {1.0, 1e2, 1e4, 1e6}) {
    SCOPED_TRACE(size);
    const Tilt tilt = SphereMeasure(kDimension, 1).tilt(size * unit, TiltOrder::mean);
    EXPECT_TRUE(std::isfinite(tilt.log_partition));
    EXPECT_GT(tilt.mean.norm(), 0);
    EXPECT_LT(tilt.mean.norm(), 1);
    EXPECT_NEAR(tilt.mean.dot(unit), tilt.mean.norm(), kRatio);
    if (size > 1e4) continue;  // the series of the reference would take 10⁶ terms
    const test::SphereReference exact = test::sphere_reference(kDimension, size);
    EXPECT_NEAR(tilt.mean.norm() / exact.derivative, 1, kRatio);
    EXPECT_NEAR(tilt.log_partition / exact.value, 1, kRatio);
    const Tilt inside = BallMeasure(kDimension, 1).tilt(size * unit, TiltOrder::mean);
    EXPECT_NEAR(inside.mean.norm() / test::sphere_reference(kDimension + 2, size).derivative, 1, kRatio);
  }
}

TEST(Sphere, CovarianceAlongAndAcross) {
  const Vector a = 300 * Vector::Unit(50, 7);
  const Tilt tilt = SphereMeasure(50, 2).tilt(a, TiltOrder::covariance);
  const test::SphereReference exact = test::sphere_reference(50, 600);
  EXPECT_NEAR(tilt.covariance(7, 7) / (4 * exact.second_derivative), 1, kRatio);
  EXPECT_NEAR(tilt.covariance(0, 0) / (4 * exact.derivative_over_x), 1, kRatio);
}

// In one dimension the sphere is ±r: nothing lies across, and the variance r² / cosh² vanishes.
TEST(Sphere, OnTheLine) {
  const Vector a{{30}};
  const double variance = SphereMeasure(1, 1).tilt(a, TiltOrder::covariance).covariance(0, 0);
  EXPECT_NEAR(variance * std::cosh(30.0) * std::cosh(30.0), 1, kRatio);
  const Vector h{{2}};
  const double product = SphereMeasure(1, 1).tilted_covariance_products(a, h)(0, 0);
  EXPECT_NEAR(product / (2 * variance), 1, kRatio);
}

// As sphere.hpp promises, nothing overflows, whatever ‖a‖ is; the square of 1e200 would.
TEST(Sphere, DirectionsWhoseSquareOverflowsOrUnderflows) {
  const Vector huge = Vector::Constant(3, 1e200);
  const Tilt far = SphereMeasure(3, 1).tilt(huge, TiltOrder::covariance);
  EXPECT_NEAR(far.log_partition / (std::sqrt(3.0) * 1e200), 1, kRatio);
  EXPECT_NEAR(far.mean[0], 1 / std::sqrt(3.0), kRatio);
  EXPECT_TRUE(far.covariance.allFinite());
  const Tilt near = SphereMeasure(3, 1).tilt(Vector::Constant(3, 1e-200), TiltOrder::covariance);
  EXPECT_NEAR(near.mean[0] * 1e200, 1 / 3.0, kRatio);
  EXPECT_LE((near.covariance - Matrix::Identity(3, 3) / 3).norm(), kRatio);
}

TEST(Sphere, TokensHaveTheRadius) {
  const RowMatrix on = sample_prompt(SphereMeasure(4, 2.5), Stream(3, 3), 1000);
  EXPECT_LE((on.rowwise().norm().array() - 2.5).abs().maxCoeff(), 1e-14);
  const RowMatrix in = sample_prompt(BallMeasure(4, 2.5), Stream(3, 3), 1000);
  EXPECT_LE(in.rowwise().norm().maxCoeff(), 2.5 * (1 + 1e-15));
  EXPECT_LT(in.rowwise().norm().minCoeff(), 1.0);  // the radius 2.5 u^{1/4} is below 1 with probability 1/39
}

}  // namespace
}  // namespace largo::sphere_test
