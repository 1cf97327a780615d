#include "largo/prompts/regression_gradient.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "largo/exact/softmax_moments.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "prompt_draws.hpp"
#include "support/random_matrices.hpp"

namespace largo::regression_gradient_test {
namespace {

constexpr test::RandomMatrices normals(17);

struct Setting {
  RegressionTask task;
  RegressionParameters parameters;
  std::int64_t L;
};

Setting random_setting(std::uint64_t id) {
  const std::ptrdiff_t d = 1 + static_cast<std::ptrdiff_t>(id % 4);
  constexpr std::int64_t kLengths[] = {1, 2, 7, 20, 63, 300};
  Setting setting;
  setting.task.token_root = 0.7 * normals(d, d, 10 * id);
  setting.task.query_root = 0.8 * normals(d, d, 10 * id + 1);
  setting.task.prior_root = 0.6 * normals(d, d, 10 * id + 2);
  setting.task.noise_deviation = id % 3 == 0 ? 0 : 0.4;
  setting.task.score_scale = 0.5;
  setting.parameters.U = normals(d + 1, d + 1, 10 * id + 3);
  setting.parameters.v = normals(d + 1, 1, 10 * id + 4);
  setting.L = kLengths[id % 6];
  return setting;
}

// Loss and gradient given the task and the query of one prompt, averaged over its tokens, as derived in
// docs/icl.md, but for the loss without its factor ½.
struct Conditional {
  double loss;
  Matrix U;
  Vector v;
};

Conditional conditional(const Setting& setting, std::uint64_t seed, std::uint64_t prompt) {
  const RegressionTask& task = setting.task;
  const auto d = task.token_root.rows();
  const auto [query, gu, gv, c, kappa, ss, y] = test::given_prompt(task, setting.parameters, seed, prompt);
  const double s = std::sqrt(ss);
  const SoftmaxMoments m = softmax_moments(s, static_cast<double>(setting.L));
  const double p = m.P2.value;
  const double F = 1 - p - 6 * m.P3.value + 6 * m.P2P2.value;
  const double F_s = -m.P2_slope.value - 6 * m.P3_slope.value + 6 * m.P2P2_slope.value;
  Conditional result;
  result.loss = c * c * F + kappa * p - 2 * c * (1 - p) * y + y * y;
  result.v = 2 * (c * F * gu + p * gv - (1 - p) * y * gu);
  const Vector in_u = 2 * (c * F - (1 - p) * y) * gv +
                      (c * c * F_s + kappa * m.P2_slope.value + 2 * c * y * m.P2_slope.value) / s * gu;
  result.U = Matrix::Zero(d + 1, d + 1);
  result.U.leftCols(d) = task.score_scale * in_u * query.transpose();
  return result;
}

class RegressionBatchOf : public ::testing::TestWithParam<PromptKernel> {};

// Batches against the exact engine on the same tasks and queries: some 500 z-scores over 20 settings, of
// which the largest is beyond 4 with probability 0.03 for a new seed.
TEST_P(RegressionBatchOf, AgreesWithTheExactEngine) {
  constexpr int kBatches = 150;
  constexpr int kPrompts = 24;
  for (std::uint64_t id = 0; id < 20; ++id) {
    const Setting setting = random_setting(id);
    const auto size = setting.parameters.v.size();
    const auto entries = 1 + size + size * size;
    Vector sum = Vector::Zero(entries), squares = sum;
    for (int batch = 0; batch < kBatches; ++batch) {
      const RegressionGradient got =
          regression_gradient(setting.task, setting.parameters,
                              {batch * kPrompts, kPrompts, setting.L, 3 + id, GetParam()}, {.threads = 1});
      Vector difference(entries);
      difference << got.loss, got.v, got.U.reshaped();
      for (int i = 0; i < kPrompts; ++i) {
        const Conditional exact =
            conditional(setting, 3 + id, static_cast<std::uint64_t>(batch * kPrompts + i));
        difference[0] -= exact.loss / kPrompts;
        difference.segment(1, size) -= exact.v / kPrompts;
        difference.tail(size * size) -= exact.U.reshaped() / kPrompts;
      }
      sum += difference;
      squares += difference.cwiseAbs2();
    }
    for (Eigen::Index i = 0; i < entries; ++i) {
      const double mean = sum[i] / kBatches;
      const double error = std::sqrt((squares[i] / kBatches - mean * mean) / kBatches);
      EXPECT_LE(std::abs(mean), 4 * error + 1e-6) << "entry " << i << " of setting " << id;
    }
  }
}

TEST_P(RegressionBatchOf, SameBitsForThreadsAndLevels) {
  const Setting setting = random_setting(23);
  const RegressionBatch batch{100, 77, 333, 5, GetParam()};
  const RegressionGradient expected =
      regression_gradient(setting.task, setting.parameters, batch, {.threads = 1});
  const std::string best = simd_level();
  for (const std::string& level : simd_levels()) {
    force_simd_level(level);
    for (const int threads : {1, 2, 3, 7}) {
      const RegressionGradient got =
          regression_gradient(setting.task, setting.parameters, batch, {.threads = threads});
      EXPECT_EQ(got.loss, expected.loss) << level << ", " << threads;
      EXPECT_EQ(got.U, expected.U) << level << ", " << threads;
      EXPECT_EQ(got.v, expected.v) << level << ", " << threads;
    }
  }
  force_simd_level(best);
}

INSTANTIATE_TEST_SUITE_P(Kernels, RegressionBatchOf,
                         ::testing::Values(PromptKernel::full, PromptKernel::collapsed), test::kernel_name);

TEST(RegressionBatch, FactoredGradientByFiniteDifferences) {
  const Setting setting = random_setting(9);
  const auto size = setting.parameters.v.size();
  FactoredParameters factored{normals(3, size, 900), normals(3, size, 901), normals(4, size, 902),
                              normals(4, 1, 903)};
  const RegressionBatch batch{0, 4, 30, 8, PromptKernel::full};
  auto loss = [&] { return regression_gradient(setting.task, factored.merged(), batch).loss; };
  const FactoredParameters gradient =
      factored_gradient(factored, regression_gradient(setting.task, factored.merged(), batch));
  auto check = [&](double& parameter, double expected) {
    constexpr double kStep = 3e-3;  // the tokens are in float32
    const double at = parameter;
    parameter = at + kStep;
    const double above = loss();
    parameter = at - kStep;
    const double below = loss();
    parameter = at;
    EXPECT_NEAR((above - below) / (2 * kStep), expected, 2e-3 * (1 + std::abs(expected)));
  };
  for (Eigen::Index i = 0; i < 3; ++i) {
    check(factored.K(i, 1), gradient.K(i, 1));
    check(factored.Q(i, 0), gradient.Q(i, 0));
    check(factored.V(i, 1), gradient.V(i, 1));
    check(factored.output(i), gradient.output(i));
  }
}

// This prompt would take half an hour.
TEST(RegressionBatch, LongPromptsNoticeAStop) {
  const Setting setting = random_setting(2);
  std::atomic<bool> stop = false;
  std::thread later([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop = true;
  });
  EXPECT_THROW(regression_gradient(setting.task, setting.parameters,
                                   {0, 1, std::int64_t{1} << 39, 1, PromptKernel::collapsed},
                                   {.threads = 1, .stop = &stop}),
               Stopped);
  later.join();
}

// There are more blocks than are held at a time, and the mean over the batch is that of its parts.
TEST(RegressionBatch, RoundsOfBlocksAddUp) {
  constexpr std::ptrdiff_t kD = 100;  // 2^22 / 10201 blocks of 16 prompts in a round: 6576 prompts
  constexpr std::int64_t kHalf = 7000;
  const RegressionTask task{Matrix::Identity(kD, kD), Matrix::Identity(kD, kD), Matrix::Identity(kD, kD), 0.1,
                            0.1};
  const RegressionParameters parameters{0.1 * normals(kD + 1, kD + 1, 1), normals(kD + 1, 1, 2)};
  const auto batch = [&](std::int64_t first, std::int64_t prompts) {
    return regression_gradient(task, parameters, {first, prompts, 2, 1, PromptKernel::collapsed},
                               {.threads = 2});
  };
  const RegressionGradient all = batch(0, 2 * kHalf), lower = batch(0, kHalf), upper = batch(kHalf, kHalf);
  EXPECT_NEAR(all.loss, (lower.loss + upper.loss) / 2, 1e-12 * all.loss);  // rounding of 875 sums of blocks
  EXPECT_LT((all.U - (lower.U + upper.U) / 2).norm(), 1e-12 * all.U.norm());
}

TEST(RegressionBatch, RefusesBadInput) {
  const Setting good = random_setting(2);
  auto refused = [&](auto change) {
    Setting bad = good;
    RegressionBatch batch{0, 4, 10, 1, PromptKernel::collapsed};
    change(bad, batch);
    EXPECT_THROW(regression_gradient(bad.task, bad.parameters, batch), InputError);
  };
  refused([](Setting& s, RegressionBatch&) { s.task.token_root.resize(0, 0); });
  refused([](Setting& s, RegressionBatch&) { s.task.query_root.resize(1, 1); });
  refused([](Setting& s, RegressionBatch&) { s.parameters.U(0, 0) = std::nan(""); });
  refused([](Setting& s, RegressionBatch&) { s.parameters.v.resize(2); });
  refused([](Setting& s, RegressionBatch&) { s.task.noise_deviation = INFINITY; });
  refused([](Setting&, RegressionBatch& b) { b.prompts = 0; });
  refused([](Setting&, RegressionBatch& b) { b.length = 0; });
  refused([](Setting&, RegressionBatch& b) { b.length = std::int64_t{1} << 41; });
  refused([](Setting&, RegressionBatch& b) { b.first = -1; });
}

// One token has no spread, so the gradient in U vanishes, in both kernels.
TEST(RegressionBatch, OneTokenHasNoGradientInU) {
  for (const PromptKernel kernel : {PromptKernel::full, PromptKernel::collapsed}) {
    Setting setting = random_setting(3);
    const RegressionGradient gradient =
        regression_gradient(setting.task, setting.parameters, {0, 100, 1, 5, kernel});
    EXPECT_LE(gradient.U.cwiseAbs().maxCoeff(), 1e-5 * gradient.v.cwiseAbs().maxCoeff());
  }
}

TEST(RegressionBatch, FactoredShapesMustFit) {
  FactoredParameters parameters{Matrix::Identity(3, 3), Matrix::Identity(3, 3), Matrix::Identity(3, 3),
                                Vector::Ones(3)};
  const RegressionGradient gradient{0, Matrix::Identity(3, 3), Vector::Ones(3)};
  EXPECT_NO_THROW(factored_gradient(parameters, gradient));
  parameters.V = Matrix::Identity(3, 7);
  EXPECT_THROW(factored_gradient(parameters, gradient), InputError);
  parameters.V = Matrix::Identity(3, 3);
  parameters.output = Vector::Ones(9);
  EXPECT_THROW(factored_gradient(parameters, gradient), InputError);
}

}  // namespace
}  // namespace largo::regression_gradient_test
