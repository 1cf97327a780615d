// The full and the collapsed kernel draw from the same law. The test compares output and gradients of single
// prompts of in-context regression: means, covariances, and two-sample Kolmogorov-Smirnov tests, with a
// million draws of each kernel if LARGO_LONG_TESTS=1, else 60,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "largo/prompts/regression_gradient.hpp"
#include "prompt_draws.hpp"
#include "support/sampled_laws.hpp"

namespace largo::same_law_test {
namespace {

using test::normals;

constexpr std::ptrdiff_t kD = 2;
constexpr Eigen::Index kObserved = 1 + (kD + 1) * kD + (kD + 1);  // output, gradient in U and in v
constexpr std::int64_t kLength = 12;
// Of 10 means and 55 covariances, at least one is beyond 4.5 standard errors in 1 of 2,000 cases.
constexpr double kLargestZScore = 4.5;
// For each of 10 Kolmogorov-Smirnov tests: all together give a false alarm in 1 of 10,000 cases.
constexpr double kSignificance = 1e-5;

std::ptrdiff_t draws() { return std::getenv("LARGO_LONG_TESTS") != nullptr ? 1000000 : 60000; }

RegressionTask task() {
  RegressionTask task;
  task.token_root = 0.9 * normals(kD, kD, 300);
  task.query_root = Matrix::Identity(kD, kD);
  task.prior_root = 0.8 * Matrix::Identity(kD, kD);
  task.noise_deviation = 0.5;
  return task;
}

// One row per prompt. The output o follows from loss = (o - y)² and <v, ∂loss/∂v> = 2 (o - y) o.
Matrix observe(PromptKernel kernel, std::uint64_t seed) {
  const RegressionTask setting = task();
  const RegressionParameters parameters{normals(kD + 1, kD + 1, 301), normals(kD + 1, 1, 302)};
  Matrix rows(draws(), kObserved);
  for (std::ptrdiff_t i = 0; i < rows.rows(); ++i) {
    const RegressionGradient g =
        regression_gradient(setting, parameters, {i, 1, kLength, seed, kernel}, {.threads = 1});
    const Vector drawn = test::prompt_draws(seed, static_cast<std::uint64_t>(i), kD);
    const double y = (setting.prior_root * drawn.head(kD)).dot(setting.query_root * drawn.tail(kD));
    rows(i, 0) = y + (parameters.v.dot(g.v) / 2 - g.loss) / y;
    rows.row(i).segment(1, (kD + 1) * kD) = g.U.leftCols(kD).reshaped().transpose();
    rows.row(i).tail(kD + 1) = g.v.transpose();
  }
  return rows;
}

double kolmogorov_smirnov(Vector a, Vector b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::ptrdiff_t i = 0, j = 0;
  double distance = 0;
  while (i < a.size() && j < b.size()) {
    (a[i] <= b[j] ? i : j) += 1;
    distance = std::max(distance, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                           static_cast<double>(j) / static_cast<double>(b.size())));
  }
  // The upper tail of Kolmogorov's distribution.
  const double x = distance * std::sqrt(static_cast<double>(a.size()) / 2);
  double p = 0;
  for (int k = 1; k < 100; ++k) p += (k % 2 == 1 ? 2 : -2) * std::exp(-2.0 * k * k * x * x);
  return std::clamp(p, 0.0, 1.0);
}

void expect_same_mean(const Vector& a, const Vector& b, const std::string& what) {
  const auto n = static_cast<double>(a.size());
  const double error =
      std::sqrt(((a.array() - a.mean()).square().sum() + (b.array() - b.mean()).square().sum())) / n;
  EXPECT_LE(std::abs(a.mean() - b.mean()), kLargestZScore * error) << what;
}

TEST(SameLaw, FullAndCollapsedKernel) {
  Matrix full = observe(PromptKernel::full, 71);
  Matrix collapsed = observe(PromptKernel::collapsed, 72);
  double smallest = 1;
  for (Eigen::Index k = 0; k < kObserved; ++k) {
    const std::string what = "observable " + std::to_string(k);
    expect_same_mean(full.col(k), collapsed.col(k), what);
    const double p = kolmogorov_smirnov(full.col(k), collapsed.col(k));
    smallest = std::min(smallest, p);
    EXPECT_GE(p, kSignificance) << what;
  }
  std::printf("smallest p-value of %ld Kolmogorov-Smirnov tests on %ld draws: %.2g\n",
              static_cast<long>(kObserved), static_cast<long>(draws()), smallest);
  const Vector centre = full.colwise().mean();
  full.rowwise() -= centre.transpose();
  collapsed.rowwise() -= centre.transpose();
  for (Eigen::Index k = 0; k < kObserved; ++k) {
    for (Eigen::Index l = 0; l <= k; ++l) {
      expect_same_mean(full.col(k).cwiseProduct(full.col(l)), collapsed.col(k).cwiseProduct(collapsed.col(l)),
                       "covariance " + std::to_string(k) + ", " + std::to_string(l));
    }
  }
}

}  // namespace
}  // namespace largo::same_law_test
