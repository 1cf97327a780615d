#include "largo/estimation/attention_errors.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "estimation/prompt_errors.hpp"
#include "estimation/query_proposal.hpp"
#include "estimation/rare_events.hpp"
#include "estimation/rare_queries.hpp"
#include "estimation/token_kurtosis.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"
#include "prompts/token_source.hpp"

namespace largo {
namespace {

constexpr const char* kSampleAttentionErrors = "sample_attention_errors";
// Quantities in the order in which they are sampled; the entries of the bias come last.
enum : std::size_t { kOutput, kGradientV, kGradientU, kP2, kCondensed, kBias };

constexpr std::int64_t kTokensPerBlock = std::int64_t{1} << 18;
constexpr std::uint64_t kQueryDraws = std::uint64_t{1} << 40;  // substream of a prompt
constexpr std::int64_t kFewPrompts = 500;  // with 100, the coverage of gradients in U was 86 to 93 %
// Controls have longer tails than the quantities they control. They are used if the pilot samples see the
// tokens on which their variance depends, and if the sum of the weights of a prompt varies little.
constexpr double kTokensForControls = 100;
constexpr double kLargestWeightVariance = 0.01;
// If a prompt holds few of the tokens that matter, controls explain prompts with none, one or two of them to
// the last digit. The rest of the variance comes from prompts with more, which may not have been seen.
constexpr double kNearlyNormal = 5;
// Largest share of random queries that may be condensed without a warning.
constexpr double kCondensedShare = 0.01;

struct Setting {
  Setting(const Measure& law, const ConstMatrixRef& scores, const ConstMatrixRef& values,
          const ErrorSampling& how, const Execution& where)
      : prompt(law, values),
        U(scores),
        sampling(how),
        log_length(numerics::portable_log(static_cast<double>(how.length))),
        execution(where) {}

  estimation::PromptLaw prompt;
  Matrix U;
  ErrorSampling sampling;
  double log_length;
  Execution execution;
  const Measure* queries = nullptr;  // null: a single query
  std::optional<estimation::QueryProposal> proposal;
  std::optional<estimation::QueryLimit> limit;    // at the single query
  std::optional<estimation::LinearLimit> linear;  // set if controls can be trusted
  prompts::PreparedPrompts prepared;              // sums from a device

  TiltOrder order() const { return sampling.gradient_U ? TiltOrder::covariance : TiltOrder::mean; }

  /// The query of prompt number `index`, if queries are random.
  estimation::WeightedQuery query(std::uint64_t index) const {
    return proposal->draw(Stream(sampling.seed, index).substream(kQueryDraws));
  }
};

class ErrorSampler final : public Sampler {
 public:
  explicit ErrorSampler(const Setting& setting)
      : setting_(setting),
        kernel_(estimation::make_prompt_error_kernel(
            setting.prompt, setting.sampling, setting.execution,
            setting.execution.device != nullptr ? &setting.prepared : nullptr)) {
    if (setting.limit) kernel_->aim(*setting.limit);
  }

  void sample(std::uint64_t index, std::span<double> values, std::span<double> controls) override {
    const double weight = setting_.limit ? 1 : draw_query(index);
    const estimation::QueryLimit& limit = setting_.limit ? *setting_.limit : *drawn_;
    kernel_->draw(index, errors_);
    values[kOutput] = weight * errors_.output;
    values[kGradientV] = weight * errors_.gradient_V;
    values[kGradientU] = weight * errors_.gradient_U;
    values[kP2] = weight * errors_.p2;
    values[kCondensed] = limit.entropy > setting_.log_length ? weight : 0;
    for (Eigen::Index i = 0; i < errors_.bias.size(); ++i) {
      values[kBias + static_cast<std::size_t>(i)] = weight * errors_.bias[i];
    }
    if (setting_.linear) set_controls(controls);
  }

 private:
  double draw_query(std::uint64_t index) {
    const estimation::WeightedQuery query = setting_.query(index);
    drawn_.emplace(setting_.prompt.law, setting_.U, query.query, setting_.order());
    kernel_->aim(*drawn_);
    return query.weight;
  }

  // Two controls for each quantity, of mean zero: its value with weights divided by their expectation instead
  // of their sum, minus the known mean; and the sum of the weights over its expectation, minus one.
  void set_controls(std::span<double> controls) const {
    const estimation::LinearLimit& linear = *setting_.linear;
    const double S = numerics::portable_exp(errors_.log_partition - setting_.limit->tilt.log_partition);
    const auto set = [&](std::size_t quantity, double own) {
      controls[2 * quantity] = own;
      controls[2 * quantity + 1] = S - 1;
    };
    const auto rows = static_cast<double>(setting_.prompt.V.rows());
    set(kOutput, S * S * errors_.output - linear.output);
    set(kGradientV, S * S * errors_.gradient_V - rows * linear.mean);
    set(kP2, S * S * errors_.p2 - linear.p2);
    for (Eigen::Index i = 0; i < errors_.bias.size(); ++i) {
      set(kBias + static_cast<std::size_t>(i), S * errors_.bias[i]);
    }
  }

  const Setting& setting_;
  std::unique_ptr<estimation::PromptErrorKernel> kernel_;
  std::optional<estimation::QueryLimit> drawn_;
  estimation::PromptErrors errors_;
};

class ErrorExperiment final : public Experiment {
 public:
  explicit ErrorExperiment(Setting& setting) : setting_(setting) {}
  std::size_t quantities() const override {
    return kBias + static_cast<std::size_t>(setting_.prompt.V.rows());
  }
  std::size_t deciding() const override { return kGradientU + 1; }
  std::int64_t samples_per_block() const override {
    return std::clamp<std::int64_t>(kTokensPerBlock / setting_.sampling.length, 1, 256);
  }
  std::unique_ptr<Sampler> sampler() const override { return std::make_unique<ErrorSampler>(setting_); }

  void prepare(std::uint64_t first, std::int64_t count) const override {
    if (setting_.execution.device == nullptr) return;
    Matrix directions(setting_.U.rows(), setting_.limit ? 1 : count);
    if (setting_.limit) {
      directions.col(0) = setting_.limit->direction;
    } else {
      for (Eigen::Index i = 0; i < count; ++i) {
        directions.col(i) = setting_.U * setting_.query(first + static_cast<std::uint64_t>(i)).query;
      }
    }
    estimation::prepare_prompts(setting_.prompt, setting_.sampling, directions, first, count,
                                setting_.execution, setting_.prepared);
  }
  std::size_t prepared_numbers() const override {
    return estimation::prepared_numbers(setting_.prompt, setting_.sampling);
  }

 private:
  Setting& setting_;
};

void check(const Setting& setting, std::ptrdiff_t query_size) {
  check_shape(kSampleAttentionErrors, "U", setting.U.rows(), setting.U.cols(), setting.prompt.law.dimension(),
              query_size);
  check_size(kSampleAttentionErrors, "columns of V", setting.prompt.V.cols(), setting.prompt.law.dimension());
  if (setting.prompt.V.rows() == 0) fail(kSampleAttentionErrors, "rows of V", 0.0, "at least 1");
  check_finite(kSampleAttentionErrors, "U", setting.U);
  check_finite(kSampleAttentionErrors, "V", setting.prompt.V);
  if (setting.sampling.length < 1 || setting.sampling.length >= prompts::kMostTokens) {
    fail(kSampleAttentionErrors, "length", static_cast<double>(setting.sampling.length),
         "between 1 and 2^40");
  }
  for (const PlantedToken& token : setting.sampling.planted) {
    check_planted_token(kSampleAttentionErrors, token, setting.prompt.law.dimension());
  }
}

std::vector<std::string> warnings_of(const Setting& setting, const SampledErrors& errors, double condensed) {
  const estimation::SampledLayer layer{setting.prompt.law,
                                       setting.U,
                                       setting.prompt.V,
                                       setting.sampling.length,
                                       setting.sampling.gradient_U,
                                       setting.sampling.planted};
  const std::int64_t samples = errors.output.samples;
  std::vector<std::string> warnings =
      setting.limit ? estimation::rare_events(layer, *setting.limit, samples)
                    : estimation::rare_events(layer, *setting.queries, *setting.proposal, samples);
  if (!setting.limit && condensed > kCondensedShare) {
    warnings.push_back(
        fmt::format("at {:.1f} % of the queries the weights condense on a few tokens: take longer "
                    "prompts or a smaller U",
                    100 * std::min(condensed, 1.0)));  // queries have weights, so their share may exceed one
  }
  // Warnings that follow from the laws give a better number of prompts.
  if (errors.output.samples < kFewPrompts && warnings.empty()) {
    warnings.push_back(fmt::format("{} prompts are few for an interval: take at least {}",
                                   errors.output.samples, kFewPrompts));
  }
  double fewest = std::min(errors.output.effective_samples, errors.gradient_V.effective_samples);
  if (setting.sampling.gradient_U) fewest = std::min(fewest, errors.gradient_U.effective_samples);
  if (fewest < kFewEffectiveSamples && warnings.empty()) {
    warnings.push_back(
        fmt::format("a few prompts make up the result: {:.1f} effective samples of {}, intervals may be too "
                    "short; take at least {:.0f} times as many",
                    fewest, errors.output.samples, std::ceil(kFewEffectiveSamples / std::max(fewest, 0.01))));
  }
  return warnings;
}

std::optional<estimation::LinearLimit> usable_controls(const Setting& setting) {
  const auto L = static_cast<double>(setting.sampling.length);
  try {
    const estimation::LinearLimit linear(setting.prompt.law, *setting.limit, setting.prompt.V, L);
    if (!(linear.p2 - 1 / L <= kLargestWeightVariance)) return std::nullopt;
    const double log_tokens =
        std::log(static_cast<double>(pilot_samples(setting.sampling.plan))) + setting.log_length;
    if (!(log_tokens - linear.entropy >= std::log(kTokensForControls))) return std::nullopt;
    const estimation::TokenKurtosis kurtosis =
        estimation::token_kurtosis(setting.prompt.law, setting.prompt.V);
    if (!(setting.log_length - kurtosis.fourth >= std::log(kNearlyNormal))) return std::nullopt;
    return linear;
  } catch (const InputError&) {
    return std::nullopt;  // a law that cannot be tilted so far
  }
}

// If controls remove nearly all of the variance, the rounding errors of the kernels are left.
SampledMean with_rounding(SampledMean mean, TokenPrecision precision) {
  const double rounding = (precision == TokenPrecision::float32 ? 1e-6 : 1e-13) * std::abs(mean.value);
  mean.low -= rounding;
  mean.high += rounding;
  return mean;
}

SampledErrors run(Setting& setting) {
  // The controls know the mean of a prompt without planted tokens.
  const bool controlled = setting.sampling.plan.use_controls && setting.sampling.planted.empty();
  if (setting.limit && controlled) setting.linear = usable_controls(setting);
  ErrorExperiment experiment(setting);
  std::vector<SampledMean> means = sample_means(experiment, setting.sampling.plan, setting.execution);
  for (SampledMean& mean : means) mean = with_rounding(mean, setting.sampling.precision);
  SampledErrors errors{means[kOutput],    means[kGradientV],
                       means[kGradientU], {means.begin() + kBias, means.end()},
                       means[kP2],        {}};
  errors.warnings = warnings_of(setting, errors, means[kCondensed].value);
  return errors;
}

}  // namespace

SampledErrors sample_attention_errors(const Measure& law, const ConstMatrixRef& U, const ConstMatrixRef& V,
                                      const ConstVectorRef& query, const ErrorSampling& sampling,
                                      const Execution& execution) {
  Setting setting(law, U, V, sampling, execution);
  check(setting, query.size());
  check_finite(kSampleAttentionErrors, "query", query);
  setting.limit.emplace(law, U, query, setting.order());
  return run(setting);
}

SampledErrors sample_attention_errors(const Measure& law, const ConstMatrixRef& U, const ConstMatrixRef& V,
                                      const Measure& queries, const ErrorSampling& sampling,
                                      const Execution& execution) {
  Setting setting(law, U, V, sampling, execution);
  setting.queries = &queries;
  check(setting, queries.dimension());
  setting.proposal.emplace(queries, law, setting.U, static_cast<double>(sampling.length));
  return run(setting);
}

}  // namespace largo
