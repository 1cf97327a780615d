// Attention over a given prompt on a GPU, against the CPU in float64.
#include <cmath>
#include <vector>

#include "gpu.hpp"
#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/sampling/streams.hpp"

namespace largo {
namespace {

class GpuAttention : public GpuTest {};

// Relative to the size of the outputs, scores of some units: the rounding of float32 in scores and sums.
constexpr double kTolerance = 4e-6;

using Floats = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Floats tokens_of(std::int64_t L, std::int64_t d, double shift) {
  RowMatrix values(L, d);
  Stream(7, static_cast<std::uint64_t>(L))
      .normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return (values.array() + shift).cast<float>();
}

ArrayView view(const Floats& tokens) {
  return {tokens.data(), Scalar::float32, tokens.rows(), tokens.cols(), tokens.cols(), 1};
}

RowMatrix queries_of(Eigen::Index count, Eigen::Index d) {
  RowMatrix queries(count, d);
  Stream(8, 1).normals(0, {queries.data(), static_cast<std::size_t>(queries.size())});
  return queries;
}

void expect_close(const Floats& tokens, Eigen::Index queries, const Device& device) {
  const Eigen::Index d = tokens.cols();
  const MergedWeights weights{Matrix::Identity(d, d) / std::sqrt(static_cast<double>(d)),
                              Matrix::Identity(d, d), 1};
  const EmpiricalMeasure wide(view(tokens), nullptr, std::nullopt, Arithmetic::float64);
  const EmpiricalMeasure narrow(view(tokens), nullptr, std::nullopt, Arithmetic::float32);
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    const RowMatrix q = queries_of(queries, d);
    const RowMatrix exact = attend(kind, wide, weights, q);
    const RowMatrix gpu = attend(kind, narrow, weights, q, {.device = &device});
    EXPECT_LT((gpu - exact).cwiseAbs().maxCoeff(), kTolerance * (1 + exact.cwiseAbs().maxCoeff()))
        << "L " << tokens.rows() << ", d " << d << ", kind " << static_cast<int>(kind);
    const RowMatrix again = attend(kind, narrow, weights, q, {.device = &device});
    EXPECT_EQ(gpu, again);
  }
}

TEST_F(GpuAttention, AgreesWithTheCpuAtEveryLength) {
  for (const std::int64_t L : {1, 2, 255, 256, 257, 16384, 16385, 100003}) {
    if (L > usual_or_short(L, 20000)) continue;
    expect_close(tokens_of(L, 5, 0), 3, device());
  }
}

TEST_F(GpuAttention, AgreesWithTheCpuInEveryDimension) {
  for (const std::int64_t d : {1, 2, 4, 16, 33, 90}) {
    expect_close(tokens_of(usual_or_short(2000, 300), d, 0.3), 70, device());
  }
}

TEST_F(GpuAttention, TakesBfloat16TokensAsTheyAre) {
  Floats tokens = tokens_of(5000, 8, 0);
  for (float& x : tokens.reshaped()) x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000U);
  expect_close(tokens, 2, device());
}

TEST_F(GpuAttention, OfLargeScoresAgreesWithTheCpu) {
  const Floats tokens = tokens_of(3000, 4, 5);
  const MergedWeights weights{8 * Matrix::Identity(4, 4), Matrix::Identity(4, 4), 1};
  const RowMatrix q = queries_of(4, 4);
  const EmpiricalMeasure wide(view(tokens), nullptr, std::nullopt, Arithmetic::float64);
  const EmpiricalMeasure narrow(view(tokens), nullptr, std::nullopt, Arithmetic::float32);
  const RowMatrix exact = attend(AttentionKind::softmax, wide, weights, q);
  const RowMatrix gpu = attend(AttentionKind::softmax, narrow, weights, q, {.device = &device()});
  EXPECT_LT((gpu - exact).cwiseAbs().maxCoeff(), 1e-4);  // scores of 100 have errors of 1e-5 in float32
  const auto jacobians =
      attention_jacobian(AttentionKind::softmax, narrow, weights, q, {.device = &device()});
  const auto exact_jacobians = attention_jacobian(AttentionKind::softmax, wide, weights, q);
  for (std::size_t i = 0; i < jacobians.size(); ++i) {
    EXPECT_LT((jacobians[i].U - exact_jacobians[i].U).norm(), 1e-3 * (1e-3 + exact_jacobians[i].U.norm()));
  }
}

TEST_F(GpuAttention, RefusesWithARemedy) {
  const Floats tokens = tokens_of(10, 3, 0);
  const MergedWeights weights{Matrix::Identity(3, 3), Matrix::Identity(3, 3), 1};
  const EmpiricalMeasure wide(view(tokens), nullptr, std::nullopt, Arithmetic::float64);
  EXPECT_THROW(attend(AttentionKind::softmax, wide, weights, queries_of(1, 3), {.device = &device()}),
               InputError);
  // A prompt that no GPU holds: the view is not read before there is room for it.
  ArrayView endless = view(tokens);
  endless.rows = std::int64_t{1} << 45;
  endless.row_stride = 0;
  const EmpiricalMeasure huge(endless, nullptr, std::nullopt, Arithmetic::float32);
  try {
    attend(AttentionKind::softmax, huge, weights, queries_of(1, 3), {.device = &device()});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("--device cpu"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace largo
