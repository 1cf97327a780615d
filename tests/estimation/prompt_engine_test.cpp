// Sampling with a device: the device prepares the prompts, and the results are those without it.
#include "prompts/prompt_engine.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "largo/estimation/attention_errors.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/runtime/check.hpp"
#include "prompts/labels.hpp"
#include "prompts/score_sums.hpp"
#include "prompts/token_source.hpp"
#include "support/fake_device.hpp"
#include "support/thread_ranks.hpp"

namespace largo::prompt_engine_test {
namespace {

class CpuPrompts final : public prompts::PromptEngine {
 public:
  void sum_tokens(std::span<const prompts::LeafSums> leaves, prompts::SumOrder order,
                  const prompts::PromptRange& range, const Execution& /*execution*/) const override {
    std::vector<double> probabilities;
    for (const prompts::LeafSums& one : leaves) probabilities.push_back(one.leaf->probability);
    const std::vector<double> cumulative = prompts::cumulative_probabilities(probabilities);
    for (std::size_t k = 0; k < leaves.size(); ++k) sum_leaf(leaves[k], k, cumulative, order, range);
    drawn += range.prompts;
  }

  void sum_scores(std::uint64_t lane, std::span<const double> rates, std::span<const double> shifts,
                  const prompts::PromptRange& range, const Execution& execution,
                  std::span<double> rows) const override {
    for (std::size_t p = 0; p < static_cast<std::size_t>(range.prompts); ++p) {
      const std::size_t at = rates.size() == 1 ? 0 : p;
      const prompts::ScoreSums s = prompts::score_sums({}, {range.seed, range.first + p, lane}, 0,
                                                       range.length, rates[at], shifts[at], execution);
      const double row[] = {s.w, s.wv, s.wvv, s.ww, s.wwv, s.wwvv, s.www, static_cast<double>(s.top)};
      std::copy_n(row, kScoreRow, rows.data() + p * kScoreRow);
    }
    drawn += range.prompts;
  }

  mutable std::atomic<std::int64_t> drawn = 0;

 private:
  static void sum_leaf(const prompts::LeafSums& one, std::size_t k, const std::vector<double>& cumulative,
                       prompts::SumOrder order, const prompts::PromptRange& range) {
    const auto d = static_cast<std::size_t>(one.leaf->base_dimension());
    const std::size_t width = prompts::sum_count(d, order) + 1;
    ASSERT_EQ(one.rows.size(), width * static_cast<std::size_t>(range.prompts));
    const auto source = prompts::make_token_source<float>(*one.leaf, one.first_lane);
    prompts::TokenSums<float> sums(d, order);
    runtime::AlignedVector<float> chunk(d * prompts::kChunkTokens);
    for (std::size_t p = 0; p < static_cast<std::size_t>(range.prompts); ++p) {
      const std::size_t at = one.directions.size() == d ? 0 : p * d;
      const std::uint64_t prompt = range.first + p;
      sums.begin(Eigen::Map<const Vector>(one.directions.data() + at, one.leaf->base_dimension()), Vector());
      prompts::share_out_labels(
          cumulative, range.seed, prompt, range.length,
          [&](std::size_t label, std::int64_t first, std::int64_t count) {
            if (label != k) return;
            for (std::int64_t done = 0; done < count; done += prompts::kChunkTokens) {
              const auto size =
                  static_cast<std::size_t>(std::min<std::int64_t>(prompts::kChunkTokens, count - done));
              source->draw(range.seed, prompt, static_cast<std::uint64_t>(first + done), size, chunk.data());
              sums.add(chunk.data(), size);
            }
          });
      double* row = one.rows.data() + p * width;
      *row++ = sums.weight();
      *row++ = sums.squared_weight();
      row = std::copy(sums.mean().begin(), sums.mean().end(), row);
      if (order == prompts::SumOrder::covariance) {
        const Matrix moment = sums.second_moment();
        for (Eigen::Index j = 0; j < moment.cols(); ++j) row = std::copy_n(moment.col(j).data(), j + 1, row);
      }
      *row = static_cast<double>(sums.top());
    }
  }
};

void expect_same(const SampledErrors& a, const SampledErrors& b) {
  for (const auto member :
       {&SampledErrors::output, &SampledErrors::gradient_V, &SampledErrors::gradient_U, &SampledErrors::p2}) {
    EXPECT_EQ((a.*member).value, (b.*member).value);
    EXPECT_EQ((a.*member).low, (b.*member).low);
    EXPECT_EQ((a.*member).samples, (b.*member).samples);
  }
  EXPECT_EQ(a.warnings, b.warnings);
}

class PromptEngines : public ::testing::TestWithParam<PromptKernel> {
 protected:
  Matrix U_ = 0.4 * Matrix::Identity(3, 3), V_ = Matrix::Ones(2, 3);
  Vector query_ = (Vector(3) << 1, -0.5, 2).finished();
  CpuPrompts engine_;
  FakeDevice device_{{&engine_}};
};

ErrorSampling sampling_of(PromptKernel kernel, std::int64_t L) {
  ErrorSampling sampling;
  sampling.length = L;
  sampling.kernel = kernel;
  sampling.gradient_U = true;
  sampling.plan.samples = 700;
  return sampling;
}

TEST_P(PromptEngines, LeaveResultsAsTheyAre) {
  const GaussianMeasure law(Vector::Ones(3), Matrix::Identity(3, 3) + 0.3 * Matrix::Ones(3, 3));
  for (const std::int64_t L : {1, 40, 300}) {
    const ErrorSampling sampling = sampling_of(GetParam(), L);
    engine_.drawn = 0;
    expect_same(sample_attention_errors(law, U_, V_, query_, sampling),
                sample_attention_errors(law, U_, V_, query_, sampling, {.threads = 2, .device = &device_}));
    EXPECT_EQ(engine_.drawn, 700 + pilot_samples(sampling.plan)) << "every prompt is the device's";
    expect_same(sample_attention_errors(law, U_, V_, law, sampling),
                sample_attention_errors(law, U_, V_, law, sampling, {.device = &device_}));
  }
}

TEST_F(PromptEngines, ShareThePromptsOfAMixture) {
  const auto wide = std::make_shared<GaussianMeasure>(Vector::Ones(3), 2 * Matrix::Identity(3, 3));
  const auto coins = std::make_shared<ProductMeasure>(3, rademacher());
  const MixtureMeasure law((Vector(3) << 0.6, 0.39, 0.01).finished(), {wide, coins, wide});
  for (const std::int64_t L : {1, 40, 20000}) {  // some leaves without a token; more spans than one
    ErrorSampling sampling = sampling_of(PromptKernel::full, L);
    sampling.plan.samples = L > 1000 ? 20 : 300;
    expect_same(sample_attention_errors(law, U_, V_, query_, sampling),
                sample_attention_errors(law, U_, V_, query_, sampling, {.threads = 2, .device = &device_}));
    expect_same(sample_attention_errors(law, U_, V_, law, sampling),
                sample_attention_errors(law, U_, V_, law, sampling, {.device = &device_}));
  }
}

TEST_P(PromptEngines, StopWhereTheErrorIsAskedFor) {
  const GaussianMeasure law(Vector::Zero(3), Matrix::Identity(3, 3));
  ErrorSampling sampling = sampling_of(GetParam(), 20);
  sampling.plan.samples = 20000;
  sampling.plan.relative_error = 0.02;
  expect_same(sample_attention_errors(law, U_, V_, query_, sampling),
              sample_attention_errors(law, U_, V_, query_, sampling, {.device = &device_}));
}

INSTANTIATE_TEST_SUITE_P(Kernels, PromptEngines,
                         ::testing::Values(PromptKernel::full, PromptKernel::collapsed),
                         [](const auto& instance) {
                           return instance.param == PromptKernel::full ? "full" : "collapsed";
                         });

TEST_P(PromptEngines, ThatFailInOneProcessEndAllOfThem) {
  const GaussianMeasure law(Vector::Zero(3), Matrix::Identity(3, 3));
  const ErrorSampling sampling = sampling_of(GetParam(), 20);
  const FakeDevice broken;  // without an engine
  const auto thrown = test::run_on(3, [&](const Ranks& ranks) {
    const Device* device = ranks.rank() == 1 ? &broken : &device_;
    sample_attention_errors(law, U_, V_, query_, sampling, {.ranks = &ranks, .device = device});
  });
  for (const std::exception_ptr& error : thrown) EXPECT_TRUE(error);
}

TEST_F(PromptEngines, AreNotAskedForWhatTheyDoNotHave) {
  const auto gaussian = std::make_shared<GaussianMeasure>(Vector::Zero(3), Matrix::Identity(3, 3));
  const MixtureMeasure mixture(Vector::Ones(2), {gaussian, gaussian});
  ErrorSampling collapsed = sampling_of(PromptKernel::collapsed, 10);
  collapsed.gradient_U = false;
  EXPECT_THROW(sample_attention_errors(mixture, U_, V_, query_, collapsed, {.device = &device_}), InputError);
  ErrorSampling wide = sampling_of(PromptKernel::full, 10);
  wide.precision = TokenPrecision::float64;
  EXPECT_THROW(sample_attention_errors(*gaussian, U_, V_, query_, wide, {.device = &device_}), InputError);
  EXPECT_EQ(engine_.drawn, 0);
}

}  // namespace
}  // namespace largo::prompt_engine_test
