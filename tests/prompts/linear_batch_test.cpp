// Linear attention in batches of regression prompts.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "largo/numerics/simd_level.hpp"
#include "largo/prompts/regression_gradient.hpp"
#include "largo/runtime/check.hpp"
#include "prompt_draws.hpp"
#include "support/random_matrices.hpp"

namespace largo::linear_batch_test {
namespace {

// There are some 250 z-scores: if normal, the largest is beyond 4.5 with probability 0.002 for a new seed.
constexpr double kLargestZ = 4.5;

constexpr test::RandomMatrices normals(19);

struct Setting {
  RegressionTask task;
  RegressionParameters parameters;
};

Setting random_setting(std::uint64_t id) {
  const std::ptrdiff_t d = 1 + static_cast<std::ptrdiff_t>(id % 4);
  return {{0.7 * normals(d, d, 10 * id), 0.8 * normals(d, d, 10 * id + 1), 0.6 * normals(d, d, 10 * id + 2),
           id % 3 == 0 ? 0 : 0.4, 0.5},
          {normals(d + 1, d + 1, 10 * id + 3), normals(d + 1, 1, 10 * id + 4)}};
}

// Loss, gradient in v and gradient in U given the task and the query of one prompt, averaged over its tokens:
// E o² = (1 + 1/L)c² + κs²/L and E o = c, with c, κ and s of GivenPrompt.
Vector conditional(const Setting& setting, std::int64_t L, std::uint64_t seed, std::uint64_t prompt) {
  const RegressionTask& task = setting.task;
  const auto d = task.token_root.rows();
  const auto [query, gu, gv, c, kappa, ss, y] = test::given_prompt(task, setting.parameters, seed, prompt);
  const double rate = 1 / static_cast<double>(L);
  const double slope = 2 * ((1 + rate) * c - y);
  Matrix U = Matrix::Zero(d + 1, d + 1);
  U.leftCols(d) = task.score_scale * (slope * gv + 2 * rate * kappa * gu) * query.transpose();
  Vector result(1 + gv.size() + U.size());
  result << (1 + rate) * c * c + rate * kappa * ss - 2 * c * y + y * y, slope * gu + 2 * rate * ss * gv,
      U.reshaped();
  return result;
}

class LinearBatchOf : public ::testing::TestWithParam<PromptKernel> {};

TEST_P(LinearBatchOf, AgreesWithWishartMoments) {
  constexpr int kBatches = 200;
  constexpr int kPrompts = 24;
  constexpr std::int64_t kLengths[] = {1, 2, 3, 10, 1000};
  for (std::uint64_t id = 0; id < 15; ++id) {
    const Setting setting = random_setting(id);
    const std::int64_t L = kLengths[id % 5];
    if (GetParam() == PromptKernel::full && L == 1000 && id > 5) continue;  // slow
    Vector sum, squares;
    for (int batch = 0; batch < kBatches; ++batch) {
      const RegressionGradient got = regression_gradient(
          setting.task, setting.parameters,
          {batch * kPrompts, kPrompts, L, 3 + id, GetParam(), AttentionKind::linear}, {.threads = 1});
      Vector difference(1 + got.v.size() + got.U.size());
      difference << got.loss, got.v, got.U.reshaped();
      for (int i = 0; i < kPrompts; ++i) {
        const auto prompt = static_cast<std::uint64_t>(batch * kPrompts + i);
        difference -= conditional(setting, L, 3 + id, prompt) / kPrompts;
      }
      if (batch == 0) sum = squares = Vector::Zero(difference.size());
      sum += difference;
      squares += difference.cwiseAbs2();
    }
    for (Eigen::Index i = 0; i < sum.size(); ++i) {
      const double mean = sum[i] / kBatches;
      const double error = std::sqrt((squares[i] / kBatches - mean * mean) / kBatches);
      EXPECT_LE(std::abs(mean), kLargestZ * error + 1e-6) << "entry " << i << " of setting " << id;
    }
  }
}

// The FNV-1a hash of the bits.
std::uint64_t fingerprint(const RegressionGradient& gradient) {
  std::uint64_t hash = 0xcbf29ce484222325;
  Vector all(1 + gradient.v.size() + gradient.U.size());
  all << gradient.loss, gradient.v, gradient.U.reshaped();
  for (const double x : all) {
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(x), k = 0; k < 8; ++k, bits >>= 8) {
      hash = (hash ^ (bits & 255)) * 0x100000001b3;
    }
  }
  return hash;
}

// The bits are the same however it is run, and are those given here, whichever compiler built this test.
TEST_P(LinearBatchOf, SameBitsForThreadsAndLevels) {
  const bool full = GetParam() == PromptKernel::full;
  const Setting setting = random_setting(23);
  const RegressionBatch batch{100, 77, 333, 5, GetParam(), AttentionKind::linear};
  const std::uint64_t expected = full ? 0xb3f1e2f3c9702a53 : 0xfc137b0b8304c3c7;
  const std::string best = simd_level();
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    for (const int threads : {1, 2, 3, 7}) {
      const auto got = regression_gradient(setting.task, setting.parameters, batch, {.threads = threads});
      EXPECT_EQ(fingerprint(got), expected) << level << ", " << threads;
    }
  }
  force_simd_level(best);
}

INSTANTIATE_TEST_SUITE_P(Kernels, LinearBatchOf,
                         ::testing::Values(PromptKernel::full, PromptKernel::collapsed), test::kernel_name);

// In the limit o = c exactly, so that the loss is (c - y)². Deviations are of the order 1/√L.
TEST(LinearBatch, LongPromptsAreTheirLimit) {
  const Setting setting = random_setting(7);
  constexpr std::int64_t kLength = (std::int64_t{1} << 53) - 1;
  const auto got = regression_gradient(setting.task, setting.parameters,
                                       {0, 40, kLength, 4, PromptKernel::collapsed, AttentionKind::linear});
  double expected = 0;
  for (std::uint64_t i = 0; i < 40; ++i) expected += conditional(setting, kLength, 4, i)[0] / 40;
  EXPECT_NEAR(got.loss, expected, 1e-6 * expected);
}

TEST(LinearBatch, RefusesLengthsItCannotDraw) {
  const Setting setting = random_setting(2);
  const auto run = [&](std::int64_t L, PromptKernel kernel) {
    regression_gradient(setting.task, setting.parameters, {0, 1, L, 1, kernel, AttentionKind::linear});
  };
  EXPECT_THROW(run(0, PromptKernel::collapsed), InputError);
  EXPECT_THROW(run(std::int64_t{1} << 53, PromptKernel::collapsed), InputError);
  EXPECT_THROW(run(std::int64_t{1} << 41, PromptKernel::full), InputError);
  EXPECT_NO_THROW(run(std::int64_t{1} << 41, PromptKernel::collapsed));
}

// Without scores (U = 0) nothing is predicted, but there is a gradient in U.
TEST(LinearBatch, StartsFromZeroScores) {
  Setting setting = random_setting(3);
  setting.parameters.U.setZero();
  const auto got = regression_gradient(setting.task, setting.parameters,
                                       {0, 100, 5, 5, PromptKernel::collapsed, AttentionKind::linear});
  EXPECT_EQ(got.v.norm(), 0);
  EXPECT_GT(got.U.norm(), 0.01);
}

}  // namespace
}  // namespace largo::linear_batch_test
