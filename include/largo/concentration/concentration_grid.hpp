// The errors of a layer against the length of its prompts and the size of its tokens: exact, sampled, or
// both.
//
//   AttentionLayer layer{tokens, U, V, query};
//   ConcentrationPlan plan;
//   plan.lengths = {10, 100, 1e6, kInfinity};
//   for (const ConcentrationRow& row : concentration_grid(layer, plan)) ...
//
// At scale σ the tokens become σ z'. The outputs are those of U, V scaled by σ, the gradients σ times theirs.
#pragma once

#include <vector>

#include "largo/concentration/attention_layer.hpp"
#include "largo/concentration/concentration_plan.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// All lengths for the first scale, then for the next; at each point the exact row before the sampled one.
/// Domain: scales > 0; lengths as in ExactErrors, whole and below 2^40 or ∞ for sampled ones. Otherwise, and
/// for exact rows without a formula (missing_formula), InputError. Local exponents: differences of fourth
/// order over 3 % of L, absolute error some 1e-8, with its estimate. The same bits for any threads and ranks.
/// Cost: that of ExactErrors, five times with exponents; and of the sampling.
std::vector<ConcentrationRow> concentration_grid(const AttentionLayer& layer, const ConcentrationPlan& plan,
                                                 const Execution& execution = {});

}  // namespace largo
