// The Lemma: the tilt of N(m, Γ) along a is N(m + Γa, Γ), so attention over it is affine. It is checked on a
// thousand random Gaussians, a third of them singular, against quadrature of the definition in 50 digits.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "largo/measures/gaussian.hpp"
#include "measures/oracle.hpp"

namespace largo::lemma_test {
namespace {

constexpr int kLaws = 1000;
// Relative, norm-wise. Largest errors seen: 3e-14 for Λ, where its two terms cancel, and 5e-16 for the mean.
constexpr double kLemma = 1e-12;

struct Draws {
  explicit Draws(std::uint64_t id) : stream(2025, id) {}
  Matrix matrix(std::ptrdiff_t rows, std::ptrdiff_t columns) {
    Matrix values(rows, columns);
    stream.normals(next, {values.data(), static_cast<std::size_t>(values.size())});
    next += static_cast<std::uint64_t>(values.size());
    return values;
  }
  Stream stream;
  std::uint64_t next = 0;
};

TEST(Lemma, TheTiltOfAGaussianIsATranslation) {
  double worst_log_partition = 0;
  double worst_mean = 0;
  double worst_covariance = 0;
  for (int k = 0; k < kLaws; ++k) {
    SCOPED_TRACE(::testing::Message() << "law " << k);
    Draws draws(static_cast<std::uint64_t>(k));
    const std::ptrdiff_t d = 1 + k % 32;
    // Every third law lives on a subspace, which for d = 1 is a point.
    const std::ptrdiff_t rank = k % 3 == 0 ? (k / 3) % d : d;
    const Matrix root = draws.matrix(d, rank) / std::sqrt(static_cast<double>(d));
    const Matrix covariance = root * root.transpose();
    const Vector mean = draws.matrix(d, 1);
    const Vector direction = draws.matrix(d, 1);  // scores have a standard deviation of about √rank

    const Tilt tilt = GaussianMeasure(mean, covariance).tilt(direction, TiltOrder::covariance);
    const test::Expected exact = expected_tilt(*test::gaussian(mean, covariance), direction);
    worst_log_partition = std::max(worst_log_partition, std::abs(tilt.log_partition - exact.log_partition) /
                                                            std::abs(exact.log_partition));
    worst_mean = std::max(worst_mean, (tilt.mean - exact.mean).norm() / exact.mean.norm());
    if (rank == 0) {
      EXPECT_EQ(tilt.covariance.norm(), 0);
      continue;
    }
    worst_covariance =
        std::max(worst_covariance, (tilt.covariance - exact.covariance).norm() / exact.covariance.norm());
  }
  EXPECT_LE(worst_log_partition, kLemma);
  EXPECT_LE(worst_mean, kLemma);
  EXPECT_LE(worst_covariance, kLemma);
}

}  // namespace
}  // namespace largo::lemma_test
