// The errors of a layer for prompts of several lengths and tokens of several sizes: exact, sampled, or both.
//
//   AttentionLayer layer{tokens, U, V, query};
//   ConcentrationPlan plan;
//   plan.lengths = {10, 100, 1e6, kInfinitePrompt};
//   for (const ConcentrationRow& row : concentration_grid(layer, plan)) ...
//
// At `sigma` = σ the tokens are σ z'. Outputs equal those of U and V scaled by σ; gradients are σ times
// theirs.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "largo/concentration/asymptotic_exponent.hpp"
#include "largo/concentration/attention_layer.hpp"
#include "largo/concentration/concentration_plan.hpp"
#include "largo/concentration/error_bound.hpp"
#include "largo/measures/measure.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// Rows come in this order: all lengths of the first σ, then those of the next; at each point the exact
/// row before the sampled one. Domain: sigmas > 0; lengths as in ExactErrors, and for sampled rows whole
/// numbers below 2^40, or ∞. Anything else throws InputError, as do exact rows without a formula
/// (missing_formula). Local exponents are differences of fourth order over 3 % of L; their absolute error is
/// about 1e-8 and comes with its estimate. Results are bit-identical for any number of threads and ranks.
/// Cost: that of ExactErrors, five times with exponents, plus that of the sampling.
std::vector<ConcentrationRow> concentration_grid(const AttentionLayer& layer, const ConcentrationPlan& plan,
                                                 const Execution& execution = {});

// Summary of the rows of a grid: slopes, exponents, and whether the paper's bounds hold.

struct BoundReport {
  BoundConstants constants;
  bool fitted = true;  ///< false if the constants were given
  BoundVerdict verdict;
};

/// The curves of one σ and one method.
struct SigmaSummary {
  double sigma = 1;
  ErrorMethod method = ErrorMethod::exact;
  std::optional<Estimate> output, gradient_V, gradient_U;  ///< slopes of ln error against ln L
  std::optional<AsymptoticExponent> asymptotic;
};

struct ConcentrationSummary {
  double sub_gaussian = 0;  ///< of the tokens at `sigma` = 1; the bounds use this constant times `sigma`
  SubGaussianKind sub_gaussian_kind = SubGaussianKind::smallest;
  ErrorMethod method = ErrorMethod::exact;  ///< rows used for the bounds: exact ones if there are any
  std::optional<BoundReport> output, gradient_V, gradient_U;  ///< empty if there is nothing to fit
  std::vector<SigmaSummary> sigmas;                           ///< in the order of the rows
};

/// Checks the constants `given`, for all bounds, instead of fitted ones. A fitted c2 is at most σ² times the
/// asymptotic exponent, if that is known; with a larger c2 the bound would fail for longer prompts.
ConcentrationSummary summarise(const AttentionLayer& layer, std::span<const ConcentrationRow> rows,
                               const std::optional<BoundConstants>& given = std::nullopt);

}  // namespace largo
