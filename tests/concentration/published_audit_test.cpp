// The published audit: d = 4, random U and V of operator norms 0.22 and 0.75, three covariances, L = 16 to
// 1024. Slopes are near -1, and errors per coordinate fall from 1e-2 to 2e-4, sampled with 10 to 30 % noise.
#include <gtest/gtest.h>

#include <cmath>

#include "largo/concentration/concentration_grid.hpp"
#include "layers.hpp"
#include "numerics/factor.hpp"

namespace largo::published_audit_test {
namespace {

Matrix with_norm(const Matrix& A, double norm) { return A * (norm / numerics::operator_norm(A)); }

TEST(PublishedAudit, SlopesAndSizes) {
  constexpr std::ptrdiff_t d = 4;
  Matrix toeplitz(d, d), condition_8 = Matrix::Zero(d, d);
  for (std::ptrdiff_t i = 0; i < d; ++i) {
    for (std::ptrdiff_t j = 0; j < d; ++j)
      toeplitz(i, j) = std::pow(0.5, std::abs(static_cast<double>(i - j)));
    condition_8(i, i) = std::pow(8.0, static_cast<double>(i) / (d - 1));
  }
  condition_8 *= d / condition_8.trace();
  for (const Matrix& covariance : {Matrix(Matrix::Identity(d, d)), toeplitz, condition_8}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const AttentionLayer layer{std::make_shared<GaussianMeasure>(Vector::Zero(d), covariance),
                                 with_norm(test::random_matrix(d, d, 2 * seed), 0.22),
                                 with_norm(test::random_matrix(d, d, 2 * seed + 1), 0.75),
                                 test::standard_gaussian(d)};
      ConcentrationPlan plan;
      plan.lengths = {16, 32, 64, 128, 256, 512, 1024};
      const auto rows = concentration_grid(layer, plan);
      const ConcentrationSummary summary = summarise(layer, rows);
      for (const auto& slope :
           {summary.sigmas[0].output, summary.sigmas[0].gradient_V, summary.sigmas[0].gradient_U}) {
        ASSERT_TRUE(slope.has_value());
        EXPECT_GE(slope->value, -1.15);
        EXPECT_LE(slope->value, -0.8);
      }
      EXPECT_GT(rows.front().output.value / d, 5e-3);
      EXPECT_LT(rows.front().output.value / d, 4e-2);
      EXPECT_GT(rows.back().output.value / d, 5e-5);
      EXPECT_LT(rows.back().output.value / d, 5e-4);
      EXPECT_TRUE(summary.output->verdict.holds);
    }
  }
}

}  // namespace
}  // namespace largo::published_audit_test
