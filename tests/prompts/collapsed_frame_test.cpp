// The directions that scores and values depend on, against Eigen, and the draws across them.
#include "prompts/collapsed_kernel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "largo/numerics/simd_level.hpp"
#include "largo/random/streams.hpp"
#include "largo/runtime/matrix.hpp"
#include "prompts/padded_rows.hpp"

namespace largo::collapsed_frame_test {
namespace {

constexpr double kRounding = 1e-13;

Vector normals(Eigen::Index size, std::uint64_t stream) {
  Vector x(size);
  Stream(8, stream).normals(0, {x.data(), prompts::size_of(size)});
  return x;
}

class Row {
 public:
  explicit Row(const Vector& x) : size_(x.size()), row_(1, prompts::size_of(x.size())) {
    std::copy_n(x.data(), size_, row_.row(0));
  }
  double* data() { return row_.row(0); }
  std::size_t stride() const { return row_.stride(); }
  Eigen::Map<const Vector> vector() const { return {row_.row(0), size_}; }

 private:
  Eigen::Index size_;
  prompts::PaddedRows row_;
};

struct Split {
  Split(const Vector& a, const Vector& b) : e(0 * a), f(0 * a) {
    Row row_a(a), row_b(b);
    frame = prompts::collapse(row_a.data(), row_b.data(), e.stride(), e.data(), f.data());
  }
  Row e, f;
  prompts::CollapsedFrame frame;
};

TEST(CollapsedFrame, SplitsScoresAndValues) {
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    for (const Eigen::Index size : {2, 6, 8, 51}) {
      const Vector a = 3 * normals(size, 1), b = normals(size, 2);
      const Split s(a, b);
      const Vector e = s.e.vector(), f = s.f.vector();
      EXPECT_LT((s.frame.s * e - a).norm(), kRounding * a.norm()) << level << ' ' << size;
      EXPECT_LT((s.frame.alpha * e + s.frame.beta * f - b).norm(), kRounding * b.norm());
      EXPECT_NEAR(e.norm(), 1, kRounding);
      EXPECT_NEAR(f.norm(), 1, kRounding);
      EXPECT_NEAR(e.dot(f), 0, kRounding);
    }
  }
  force_simd_level(simd_levels().front());
}

TEST(CollapsedFrame, OfValuesThatFollowTheScoresHasOneDirection) {
  const Vector a = normals(7, 1);
  const Split s(a, -2 * a);
  EXPECT_NEAR(s.frame.alpha, -2 * a.norm(), kRounding);
  EXPECT_EQ(s.frame.beta, 0);
  EXPECT_EQ(s.f.vector().norm(), 0);
}

TEST(CollapsedFrame, OfNoScoresKeepsTheValues) {
  const Vector b = normals(7, 2);
  const Split s(Vector::Zero(7), b);
  EXPECT_EQ(s.frame.s, 0);
  EXPECT_LT((s.frame.alpha * s.e.vector() + s.frame.beta * s.f.vector() - b).norm(), kRounding);
}

TEST(CollapsedFrame, SpreadsAcrossItsDirectionsOnly) {
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    const Eigen::Index size = 13;
    Split s(normals(size, 1), normals(size, 2));
    const Vector n1 = normals(size, 3), n2 = normals(size, 4), e = s.e.vector(), f = s.f.vector();
    Row mean(n1), gradient(n2);
    const prompts::CollapsedSums sums{0.3, -0.2, 0.7, 0.1, 0.25, 0.05, 0.09};
    prompts::spread(sums, s.e.data(), s.f.data(), s.e.stride(), mean.data(), gradient.data());
    const Matrix across = Matrix::Identity(size, size) - e * e.transpose() - f * f.transpose();
    // Cholesky's root of the covariance {{p2, p2v}, {p2v, p2vv}}.
    const Vector expected_mean = sums.g * e + sums.h * f + 0.5 * across * n1;
    const Vector expected_gradient =
        sums.vg * e + sums.vh * f + across * (0.05 / 0.5 * n1 + std::sqrt(0.09 - 0.01) * n2);
    EXPECT_LT((mean.vector() - expected_mean).norm(), kRounding) << level;
    EXPECT_LT((gradient.vector() - expected_gradient).norm(), kRounding) << level;
  }
  force_simd_level(simd_levels().front());
}

}  // namespace
}  // namespace largo::collapsed_frame_test
