// The errors of a layer against the length of its prompts and the size of its tokens: exact, sampled, or
// both.
//
//   AttentionLayer layer{tokens, U, V, query};
//   ConcentrationPlan plan;
//   plan.lengths = {10, 100, 1e6, kInfinity};
//   for (const ConcentrationRow& row : concentration_grid(layer, plan)) ...
//
// σ as a dial: scale σ is the law of σ z'. Its outputs are those of U, V scaled by σ, its gradients σ times
// theirs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "largo/concentration/attention_layer.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/numerics/execution.hpp"
#include "largo/sampling/prompt_kernel.hpp"
#include "largo/sampling/sample_means.hpp"

namespace largo {

enum class ErrorMethod : std::uint8_t { exact, sampled };

/// A number with its error bar: of an exact one, the estimate of its error; of a sampled one, its standard
/// error and a 95 % interval.
struct ErrorBar {
  double value = 0;
  double error = 0;
  double low = 0, high = 0;
};

/// −d ln error / d ln L.
struct LocalExponents {
  std::optional<Estimate> output, gradient_V, gradient_U;  ///< none where the error is zero or unknown
};

struct ConcentrationRow {
  double scale = 1;
  double L = 1;
  ErrorMethod method = ErrorMethod::exact;
  ErrorBar output, gradient_V;
  std::optional<ErrorBar> gradient_U;  ///< exact: for Gaussian tokens only
  LocalExponents exponents;            ///< of exact rows
  std::optional<ErrorBar> softmax_linear;  ///< E‖T[μ̂_L] − T_lin[μ̂_L]‖², exact, centred Gaussian tokens
  std::optional<double> linear;            ///< E‖T_lin[μ̂_L] − T_lin[μ]‖², exact, Gaussian tokens
  std::int64_t prompts = 0;                ///< sampled ones
  std::vector<std::string> warnings;  ///< of the sampling
};

struct ConcentrationPlan {
  std::vector<double> scales = {1};
  std::vector<double> lengths;  ///< ∞ is one
  bool exact = true;
  bool sampled = false;
  bool exponents = true;
  SamplingPlan sampling;  ///< for each point; `first` and `drawn` are set here
  TokenPrecision precision = TokenPrecision::float32;
  std::uint64_t seed = 1;
  /// Called with the share of its work that this process has done, from 0 to 1, in any order and from any
  /// thread, one call at a time.
  std::function<void(double share)> progress;
};

/// All lengths for the first scale, then for the next; at each point the exact row before the sampled one.
/// Domain: scales > 0; lengths as in ExactErrors, whole and below 2^40 or ∞ for sampled ones. Otherwise, and
/// for exact rows without a formula (missing_formula), InputError. Local exponents: differences of fourth
/// order over 3 % of L, absolute error some 1e-8, with its estimate. The same bits for any threads and ranks.
/// Cost: that of ExactErrors, five times with exponents; and of the sampling.
std::vector<ConcentrationRow> concentration_grid(const AttentionLayer& layer, const ConcentrationPlan& plan,
                                                 const Execution& execution = {});

}  // namespace largo
