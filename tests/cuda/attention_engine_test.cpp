// Attention over a given prompt on a GPU, against the CPU in float64.
#include "attention_engine.hpp"

#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "gpu.hpp"
#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/random/streams.hpp"
#include "support/fake_device.hpp"
#include "token_limit.hpp"

namespace largo {
namespace {

class GpuAttention : public GpuTest {};

// Relative to the size of the outputs, for scores of a few units: float32 rounds the scores and the sums.
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
  // The largest dimensions that fit, for outputs and for the covariances of linear attention.
  for (const int d : {cuda::most_token_numbers() - 1, cuda::most_token_numbers()}) {
    expect_close(tokens_of(usual_or_short(2000, 300), d, 0.3), 3, device());
  }
}

TEST_F(GpuAttention, OfMoreCoordinatesThanFitIsRefusedWithTheLimit) {
  const int most = cuda::most_token_numbers();
  const Floats tokens = tokens_of(10, most + 1, 0);
  const EmpiricalMeasure prompt(view(tokens), nullptr, std::nullopt, Arithmetic::float32);
  for (const TiltOrder order : {TiltOrder::mean, TiltOrder::covariance}) {
    try {
      prompt.tilts(Matrix::Zero(most + 1, 1), order, {.device = &device()});
      ADD_FAILURE() << most + 1;
    } catch (const InputError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("between 1 and " + std::to_string(most)), std::string::npos) << text;
      EXPECT_NE(text.find("on the CPU"), std::string::npos) << text;
    }
  }
}

// Computes the sums twice, and expects the same bits from the tokens that are on the GPU already.
std::vector<double> sums_of(const ArrayView& tokens, const Matrix& directions, bool covariance,
                            const cuda::GivenLimits& limits, std::size_t* bytes_there = nullptr) {
  static const auto shelf = std::make_shared<cuda::StagingShelf>();
  cuda::GivenPrompt prompt(0, tokens, limits, shelf);
  const Vector centre = Vector::Constant(tokens.columns, 0.125);
  std::vector<double> rows(measures::KeptPrompt::row_size(tokens.columns, covariance) *
                           static_cast<std::size_t>(directions.cols()));
  std::vector<double> again(rows.size());
  prompt.sum(directions, centre, covariance, {}, rows);
  prompt.sum(directions, centre, covariance, {}, again);
  EXPECT_EQ(rows, again) << "tokens that are there already";
  if (bytes_there != nullptr) *bytes_there = prompt.bytes_there();
  return rows;
}

TEST_F(GpuAttention, HasTheSameBitsInPieces) {
  for (const std::int64_t L : {4096, 20000}) {
    const Floats tokens = tokens_of(L, 7, 0.3);
    const Matrix directions = queries_of(usual_or_short(66, 3), 7).transpose();
    for (const bool covariance : {false, true}) {
      std::size_t there = 0;
      const std::vector<double> whole = sums_of(view(tokens), directions, covariance, {}, &there);
      const auto bytes = static_cast<std::size_t>(L) * 7 * sizeof(float);
      EXPECT_EQ(there, bytes);
      // None or half of the tokens stay on the GPU, and a few directions are summed at a time.
      for (const std::size_t kept : {std::size_t{0}, bytes / 2}) {
        const cuda::GivenLimits limits{.piece_tokens = 4096, .held_sums = 150, .kept_bytes = kept};
        EXPECT_EQ(sums_of(view(tokens), directions, covariance, limits, &there), whole)
            << "L " << L << ", kept " << kept;
        EXPECT_LE(there, kept);
      }
    }
  }
}

TEST_F(GpuAttention, OfTokensLaidOutOtherwiseHasTheSameBits) {
  const Floats tokens = tokens_of(5000, 6, 0);
  const Matrix directions = queries_of(3, 6).transpose();
  const std::vector<double> plain = sums_of(view(tokens), directions, true, {});
  const Eigen::MatrixXf columns = tokens;
  const ArrayView turned{columns.data(), Scalar::float32, 5000, 6, 1, 5000};
  EXPECT_EQ(sums_of(turned, directions, true, {}), plain);
  const RowMatrix wide = tokens.cast<double>();
  EXPECT_EQ(sums_of(view_of(wide), directions, true, {}), plain);
}

TEST_F(GpuAttention, TakesBfloat16TokensAsTheyAre) {
  Floats tokens = tokens_of(5000, 8, 0);
  const Matrix directions = queries_of(3, 8).transpose();
  for (float& x : tokens.reshaped()) x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffff0000U);
  std::size_t packed = 0, whole = 0;
  const std::vector<double> sums = sums_of(view(tokens), directions, true, {}, &packed);
  EXPECT_EQ(sums, sums_of(view(tokens), directions, true, {.pack = false}, &whole));
  EXPECT_EQ(packed, 5000U * 8 * 2);
  EXPECT_EQ(whole, 5000U * 8 * 4);
  // If the last number alone is no bfloat16, all numbers are taken as float32.
  float& last = tokens(4999, 7);
  last = std::bit_cast<float>(std::bit_cast<std::uint32_t>(4.0F) | 0x8000U);
  const std::vector<double> rounded = [&] {
    const float kept = std::exchange(last, 4.0F);
    std::vector<double> sums_without_digit = sums_of(view(tokens), directions, true, {});
    last = kept;
    return sums_without_digit;
  }();
  const std::vector<double> other = sums_of(view(tokens), directions, true, {}, &packed);
  EXPECT_EQ(packed, whole);
  EXPECT_EQ(other, sums_of(view(tokens), directions, true, {.pack = false}));
  EXPECT_NE(other, rounded) << "a digit of float32 shows in the sums";
}

// An endless prompt, in which one token repeats: it is longer than the memory of a GPU.
TEST_F(GpuAttention, OfAnEndlessPromptStopsOnRequest) {
  if (short_tests()) GTEST_SKIP() << "a launch is not short under a sanitizer";
  for (const int d : {16, cuda::most_token_numbers()}) {
    const Floats tokens = tokens_of(1, d, 0);
    ArrayView endless = view(tokens);
    endless.rows = std::int64_t{1} << 45;
    endless.row_stride = 0;
    const EmpiricalMeasure prompt(endless, nullptr, std::nullopt, Arithmetic::float32);
    expect_stop([&](const std::atomic<bool>* stop) {
      prompt.tilts(Matrix::Ones(d, 64), TiltOrder::covariance, {.stop = stop, .device = &device()});
    });
  }
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
}

}  // namespace
}  // namespace largo
