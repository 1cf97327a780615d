// Covariates that are not Gaussian: as the prompts grow, gradient flow on them follows that on the law
// itself. All lengths have the same draws, and several sets of draws give the error bars.
#include <array>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "icl/prompt_tasks.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/training/gradient_flow.hpp"

namespace largo::other_covariates_test {
namespace {

constexpr Eigen::Index kDimension = 2;
constexpr std::array kLengths = {25.0, 100.0, 400.0};
constexpr std::size_t kSeeds = 6;
constexpr std::int64_t kDraws = 96;
constexpr double kHorizon = 6;

FlowResult train(const PromptTaskPtr& task, double length, std::uint64_t seed) {
  const PromptSetting setting{task, squared_loss(), length, AttentionKind::softmax, 1, seed};
  const auto risk =
      in_parameters(std::make_shared<const PromptRisk>(setting, kDraws), invariant_map(kDimension));
  const double alpha = 0.8;
  Vector start(kDimension * kDimension + 1);
  start << Matrix(alpha * Matrix::Identity(kDimension, kDimension) / std::sqrt(kDimension)).reshaped(), alpha;
  FlowPlan plan;
  plan.end = kHorizon;
  plan.method = FlowMethod::krylov;
  plan.relative_tolerance = 1e-5;  // the distances below are 1e-2 and more
  plan.absolute_tolerance = 1e-6;
  return gradient_flow(*risk, start, plan);
}

struct MeanAndError {
  double mean, error;
};

MeanAndError over_seeds(const std::array<double, kSeeds>& values) {
  double mean = 0, square = 0;
  for (const double x : values) mean += x / kSeeds;
  for (const double x : values) square += (x - mean) * (x - mean);
  return {mean, std::sqrt(square / (kSeeds - 1) / kSeeds)};
}

// t with 5 degrees of freedom is beyond 4 with probability 0.5 % on one side, in each of 36 comparisons.
constexpr double kMaxT = 4;

void expect_convergence(const MeasurePtr& law) {
  const PromptTaskPtr task = std::make_shared<LawRegression>(RegressionLaws{law});
  std::array<std::array<double, kSeeds>, kLengths.size()> distance, excess;
  for (std::size_t k = 0; k < kSeeds; ++k) {
    const FlowResult limit = train(task, test::kInfinity, k + 1);
    for (std::size_t l = 0; l < kLengths.size(); ++l) {
      const FlowResult finite = train(task, kLengths[l], k + 1);
      distance[l][k] = largest_distance(finite.trajectory, limit.trajectory, kHorizon).value;
      excess[l][k] = std::abs(finite.last.value - limit.last.value);
    }
  }
  for (std::size_t l = 0; l + 1 < kLengths.size(); ++l) {
    SCOPED_TRACE(::testing::Message() << "L = " << kLengths[l] << " and four times that");
    for (const auto& quantity : {distance, excess}) {
      std::array<double, kSeeds> exponents{};  // of 1/L, seed by seed
      for (std::size_t k = 0; k < kSeeds; ++k) {
        exponents[k] = std::log(quantity[l][k] / quantity[l + 1][k]) / std::log(4.0);
      }
      const MeanAndError exponent = over_seeds(exponents);
      // The noise of a prompt falls like L^{-1/2}, and the bias like L^{-1}: the quantity lies between them.
      EXPECT_GE(exponent.mean + kMaxT * exponent.error, 0.5);
      EXPECT_LE(exponent.mean - kMaxT * exponent.error, 1);
      EXPECT_GE(exponent.mean - kMaxT * exponent.error, 0.0);
    }
  }
}

TEST(OtherCovariates, Rademacher) {
  expect_convergence(std::make_shared<ProductMeasure>(kDimension, rademacher()));
}

TEST(OtherCovariates, Uniform) {
  expect_convergence(std::make_shared<ProductMeasure>(kDimension, uniform(std::numbers::sqrt3)));
}

TEST(OtherCovariates, Sphere) {
  expect_convergence(std::make_shared<SphereMeasure>(kDimension, std::sqrt(kDimension)));
}

}  // namespace
}  // namespace largo::other_covariates_test
