// Every law's tilts against their definition in 50 digits, and the batched calls against the single ones.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "largo/measures/coordinate_law.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "measures/catalogue.hpp"

namespace largo::tilt_test {
namespace {

using test::Case;
using test::directions;

// For small directions Λ is the log of a sum near one: absolute error there, relative where Λ is large.
constexpr double kLogPartition = 1e-13;
constexpr double kMoments = 1e-12;   // norm-wise; the project asks for 1e-10, and the laws reach 1e-13
constexpr double kSymmetry = 1e-15;  // rounding; far below what check_symmetric tolerates
constexpr double kProducts = 1e-12;  // one product of a d x d matrix with a vector, in another order

class Tilts : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Laws, Tilts, ::testing::ValuesIn(test::catalogue()), test::case_name);

Matrix columns(const std::vector<Vector>& vectors) {
  Matrix matrix(vectors.front().size(), std::ssize(vectors));
  for (std::size_t q = 0; q < vectors.size(); ++q) matrix.col(static_cast<std::ptrdiff_t>(q)) = vectors[q];
  return matrix;
}

TEST_P(Tilts, MatchTheDefinition) {
  const Case& entry = GetParam();
  // The spread of the law is the unit of errors of the mean where the mean vanishes.
  const double spread =
      std::sqrt(expected_tilt(*entry.oracle, Vector::Zero(entry.law->dimension())).covariance.trace());
  for (const Vector& a : directions(*entry.law)) {
    SCOPED_TRACE(::testing::Message() << "direction " << a.transpose());
    const test::Expected exact = expected_tilt(*entry.oracle, a);
    const Tilt tilt = entry.law->tilt(a, TiltOrder::covariance);
    EXPECT_LE(std::abs(tilt.log_partition - exact.log_partition),
              kLogPartition * std::max(1.0, std::abs(exact.log_partition)));
    const double mean_size = a.norm() > 0 ? exact.mean.norm() : std::max(exact.mean.norm(), spread);
    EXPECT_LE((tilt.mean - exact.mean).norm(), kMoments * mean_size);
    // The covariance of a point mass is zero only to 50 digits.
    EXPECT_LE((tilt.covariance - exact.covariance).norm(),
              std::max(1e-40, kMoments * exact.covariance.norm()));
    EXPECT_LE((tilt.covariance - tilt.covariance.transpose()).norm(), kSymmetry * tilt.covariance.norm());
  }
}

// Cut off far out, a Laplace law is whole up to e^{-bound/scale}: λ(a) = -log(1 - x²) with x = a scale.
TEST(TruncatedLaplace, CutOffFarOutIsTheWholeLaw) {
  for (const double scale : {1e-100, 1e-5, 1.0, 1e100}) {
    for (const double ratio : {200.0, 1e5, 1e10, 1e100}) {
      const CoordinateLawPtr law = truncated_laplace(scale, ratio * scale);
      for (const double x : {-0.8, -0.1, 0.0, 1e-3, 0.5}) {
        const Cumulants got = law->cumulants(x / scale);
        const double rest = 1 - x * x;
        EXPECT_NEAR(got.value, -std::log(rest), 1e-14) << scale << " " << ratio << " " << x;
        EXPECT_NEAR(got.derivative / scale, 2 * x / rest, 1e-13) << scale << " " << ratio << " " << x;
        EXPECT_NEAR(got.curvature / (scale * scale), 2 * (1 + x * x) / (rest * rest), 1e-12)
            << scale << " " << x;
      }
    }
  }
}

TEST_P(Tilts, LesserOrdersAreTheSameNumbers) {
  const Measure& law = *GetParam().law;
  for (const Vector& a : directions(law)) {
    const Tilt full = law.tilt(a, TiltOrder::covariance);
    const Tilt mean = law.tilt(a, TiltOrder::mean);
    const Tilt value = law.tilt(a, TiltOrder::log_partition);
    EXPECT_EQ(law.log_partition(a), full.log_partition);
    EXPECT_EQ(value.log_partition, full.log_partition);
    EXPECT_EQ(value.mean.size(), 0);
    EXPECT_EQ(value.covariance.size(), 0);
    EXPECT_EQ(mean.mean, full.mean);
    EXPECT_EQ(mean.covariance.size(), 0);
  }
  const Tilt centre = law.tilt(Vector::Zero(law.dimension()), TiltOrder::covariance);
  EXPECT_EQ(law.mean(), centre.mean);
  EXPECT_EQ(law.covariance(), centre.covariance);
}

TEST_P(Tilts, BatchesEqualSingleCallsOnAnyNumberOfThreads) {
  const Measure& law = *GetParam().law;
  const std::vector<Vector> all = directions(law);
  const Matrix batch = columns(all);
  for (const int threads : {1, 2, 3, 7}) {
    const std::vector<Tilt> tilts = law.tilts(batch, TiltOrder::covariance, {threads, 0});
    ASSERT_EQ(tilts.size(), all.size());
    for (std::size_t q = 0; q < all.size(); ++q) {
      const Tilt single = law.tilt(all[q], TiltOrder::covariance);
      EXPECT_EQ(tilts[q].log_partition, single.log_partition);
      EXPECT_EQ(tilts[q].mean, single.mean);
      EXPECT_EQ(tilts[q].covariance, single.covariance);
    }
  }
  EXPECT_TRUE(law.tilts(Matrix(law.dimension(), 0), TiltOrder::mean, {}).empty());
}

TEST_P(Tilts, CovarianceProducts) {
  const Measure& law = *GetParam().law;
  const Matrix batch = columns(directions(law));
  const Matrix vectors = test::random_matrix(77, batch.rows(), batch.cols());
  const Matrix products = law.tilted_covariance_products(batch, vectors, {1, 0});
  for (std::ptrdiff_t q = 0; q < batch.cols(); ++q) {
    const Matrix covariance = law.tilt(batch.col(q), TiltOrder::covariance).covariance;
    EXPECT_LE((products.col(q) - covariance * vectors.col(q)).norm(),
              kProducts * covariance.norm() * vectors.col(q).norm());
  }
  for (const int threads : {2, 3, 7}) {
    EXPECT_EQ(law.tilted_covariance_products(batch, vectors, {threads, 0}), products);
  }
}

// A radius with a density is replaced by nodes on what the tilt leaves of its range, here a few per cent.
TEST(Elliptical, LargeDirections) {
  const Matrix shape = Matrix::Identity(3, 3);
  const test::Line range{{}, {{0, 1, 0}, {1, 1.5, 0}, {1.5, 1.75, 0}, {1.75, 2, 0}}};
  const EllipticalMeasure gaussian(shape, EllipticalBase::gaussian, RadialLaw::uniform(0, 2));
  const EllipticalMeasure sphere(shape, EllipticalBase::sphere, RadialLaw::uniform(0, 2));
  for (const double size : {9.0, 12.0, 25.0}) {
    SCOPED_TRACE(size);
    const Vector a = size * test::random_matrix(90, 3, 1).normalized();
    const auto expect_match = [&](const Measure& law, const test::OraclePtr& oracle) {
      const test::Expected exact = expected_tilt(*oracle, a);
      const Tilt tilt = law.tilt(a, TiltOrder::covariance);
      EXPECT_NEAR(tilt.log_partition / exact.log_partition, 1, kLogPartition);
      EXPECT_LE((tilt.mean - exact.mean).norm(), kMoments * exact.mean.norm());
      EXPECT_LE((tilt.covariance - exact.covariance).norm(), kMoments * exact.covariance.norm());
    };
    expect_match(gaussian, test::elliptical_gaussian(shape, range));
    expect_match(sphere, test::elliptical_sphere(shape, range));
  }
}

// The prompt is longer than the pieces that threads are given.
TEST(LongPrompt, SameBitsForEveryExecution) {
  const EmpiricalMeasure prompt(RowMatrix(test::random_matrix(80, 50001, 3)));
  const Matrix batch = columns(directions(prompt));
  const Matrix vectors = test::random_matrix(81, batch.rows(), batch.cols());
  const std::vector<Tilt> reference = prompt.tilts(batch, TiltOrder::covariance, {1, 0});
  const Matrix products = prompt.tilted_covariance_products(batch, vectors, {1, 0});
  for (const int threads : {1, 2, 3, 7}) {
    for (const std::int64_t chunk : {std::int64_t{0}, std::int64_t{1}, std::int64_t{20000}}) {
      const std::vector<Tilt> tilts = prompt.tilts(batch, TiltOrder::covariance, {threads, chunk});
      for (std::size_t q = 0; q < tilts.size(); ++q) {
        EXPECT_EQ(tilts[q].log_partition, reference[q].log_partition);
        EXPECT_EQ(tilts[q].mean, reference[q].mean);
        EXPECT_EQ(tilts[q].covariance, reference[q].covariance);
      }
      EXPECT_EQ(prompt.tilted_covariance_products(batch, vectors, {threads, chunk}), products);
    }
  }
}

TEST(LongPrompt, MatchesTheSum) {
  const RowMatrix tokens = test::random_matrix(80, 20001, 3);
  const EmpiricalMeasure prompt(tokens);
  const test::OraclePtr oracle = test::atoms(tokens, Vector::Ones(tokens.rows()));
  const Vector a = test::random_matrix(82, 3, 1);
  const test::Expected exact = expected_tilt(*oracle, a);
  const Tilt tilt = prompt.tilt(a, TiltOrder::covariance);
  EXPECT_LE(std::abs(tilt.log_partition - exact.log_partition), kLogPartition);
  EXPECT_LE((tilt.mean - exact.mean).norm(), 1e-13 * exact.mean.norm());
  EXPECT_LE((tilt.covariance - exact.covariance).norm(), 1e-13 * exact.covariance.norm());
}

}  // namespace
}  // namespace largo::tilt_test
