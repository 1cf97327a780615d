#include "concentration/rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "largo/concentration/linear_attention.hpp"
#include "largo/estimation/attention_errors.hpp"
#include "largo/runtime/check.hpp"

namespace largo::concentration {
namespace {

// Points draw different prompts: the numbers of their samples are 2^kSampleBits apart.
constexpr int kSampleBits = 40;
constexpr double kLongestSampled = 0x1p40;

ErrorBar bar(const Estimate& x) {
  return {x.value, x.error, std::max(0.0, x.value - x.error), x.value + x.error};
}

ErrorBar bar(const SampledMean& x, double factor) {
  return {factor * x.value, factor * x.standard_error, factor * x.low, factor * x.high};
}

}  // namespace

void pack_errors(const LayerErrors& errors, double* to) {
  // An optional estimate has a flag before it.
  const auto put = [&](const std::optional<Estimate>& x, double* at) {
    at[0] = x.has_value() ? 1 : 0;
    at[1] = x.value_or(Estimate{}).value;
    at[2] = x.value_or(Estimate{}).error;
  };
  to[0] = errors.output.value;
  to[1] = errors.output.error;
  to[2] = errors.gradient_V.value;
  to[3] = errors.gradient_V.error;
  put(errors.gradient_U, to + 4);
  put(errors.softmax_linear, to + 7);
}

LayerErrors unpack_errors(const double* from) {
  const auto get = [&](const double* at) {
    return at[0] != 0 ? std::optional<Estimate>({at[1], at[2]}) : std::nullopt;
  };
  return {{from[0], from[1]}, {from[2], from[3]}, get(from + 4), get(from + 7)};
}

ConcentrationRow exact_row(const AttentionLayer& layer, const LayerErrors& errors, double L, double sigma) {
  ConcentrationRow row;
  row.sigma = sigma;
  row.L = L;
  row.output = bar(errors.output);
  row.gradient_V = bar(errors.gradient_V);
  if (errors.gradient_U) row.gradient_U = bar(*errors.gradient_U);
  if (errors.softmax_linear) row.softmax_linear = bar(*errors.softmax_linear);
  if (has_gaussian_tokens(layer) && layer.planted.empty())
    row.linear = linear_attention_error(layer, L, sigma);
  return row;
}

void check_sampled_length(std::string_view function, double L) {
  const bool whole = L >= 1 && L < kLongestSampled && L == std::floor(L);
  if (!whole && L != std::numeric_limits<double>::infinity()) {
    fail(function, "length of sampled prompts", L, "a whole number from 1 to 2^40 - 1, or inf");
  }
}

ConcentrationRow sampled_row(const AttentionLayer& layer, const ConcentrationPlan& plan, double L,
                             double sigma, std::size_t point, const Execution& execution) {
  ConcentrationRow row;
  row.sigma = sigma;
  row.L = L;
  row.method = ErrorMethod::sampled;
  row.gradient_U = ErrorBar{};
  if (std::isinf(L)) return row;
  ErrorSampling sampling;
  sampling.length = static_cast<std::int64_t>(L);
  sampling.seed = plan.seed;
  sampling.plan = plan.sampling;
  sampling.plan.first = std::uint64_t{point} << kSampleBits;
  sampling.gradient_U = true;
  sampling.planted = layer.planted;
  sampling.precision = plan.precision;
  const bool collapsed =
      has_gaussian_tokens(layer) && layer.planted.empty() && plan.precision == TokenPrecision::float32;
  sampling.kernel = collapsed ? PromptKernel::collapsed : PromptKernel::full;
  const auto sample = [&](const auto& queries) {
    return sample_attention_errors(*layer.tokens, sigma * layer.U, sigma * layer.V, queries, sampling,
                                   execution);
  };
  const auto* query = std::get_if<Vector>(&layer.queries);
  const SampledErrors errors =
      query != nullptr ? sample(*query) : sample(*std::get<MeasurePtr>(layer.queries));
  row.output = bar(errors.output, 1);
  row.gradient_V = bar(errors.gradient_V, sigma * sigma);
  row.gradient_U = bar(errors.gradient_U, sigma * sigma);
  row.prompts = errors.output.samples;
  row.warnings = errors.warnings;
  return row;
}

}  // namespace largo::concentration
