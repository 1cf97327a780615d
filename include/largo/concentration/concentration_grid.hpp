// The errors of a layer for prompts of several lengths and tokens of several sizes: exact, sampled, or both.
//
//   AttentionLayer layer{tokens, U, V, query};
//   ConcentrationPlan plan;
//   plan.lengths = {10, 100, 1e6, kInfinity};
//   for (const ConcentrationRow& row : concentration_grid(layer, plan)) ...
//
// At scale σ the tokens are σ z'. Outputs equal those of U and V scaled by σ; gradients are σ times theirs.
#pragma once

#include <vector>

#include "largo/concentration/attention_layer.hpp"
#include "largo/concentration/concentration_plan.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// Rows come in this order: all lengths of the first scale, then those of the next; at each point the exact
/// row before the sampled one. Domain: scales > 0; lengths as in ExactErrors, and for sampled rows whole
/// numbers below 2^40, or ∞. Anything else throws InputError, as do exact rows without a formula
/// (missing_formula). Local exponents are differences of fourth order over 3 % of L; their absolute error is
/// about 1e-8 and comes with its estimate. Results are bit-identical for any number of threads and ranks.
/// Cost: that of ExactErrors, five times with exponents, plus that of the sampling.
std::vector<ConcentrationRow> concentration_grid(const AttentionLayer& layer, const ConcentrationPlan& plan,
                                                 const Execution& execution = {});

}  // namespace largo
