// The hypotheses of the paper's propositions, and of the certified bounds, for one law of tokens, one matrix
// of scores and one query or law of queries: the value of each, whether it holds, and what needs it.
// docs/assumptions.md has the statements, the formulas and the proofs.
//
// Nothing is sampled. A hypothesis holds or fails if that follows from formulas, from certified bounds, or
// from values of Λ that your own law returns; otherwise it is undecided, and the note says why.
#pragma once

#include <vector>

#include "largo/concentration/assumption.hpp"
#include "largo/concentration/attention_layer.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// In this order:
///   sub_gaussian_tokens    σ: Λ(a) − <a, mean> <= σ²‖a‖²/2
///   large_sigma            σ, for which the paper's bounds are stated with σ ≫ 1
///   sub_gaussian_queries   the same constant of the queries, which the paper takes to be 1
///   centred_tokens         ‖mean‖
///   gaussian_tokens        no value
///   bounded_tokens         the largest ‖z'‖
///   finite_log_partition   the largest r with Λ(a) finite for all ‖a‖ < r, as far as it is known
///   tilted_moment_4, _8    E_z E_{ν_Uz}‖z'‖⁴ and ⁸
///   finite_rho             ln E_z ρ(Uz), ρ(a) = e^{Λ(2a) − 2Λ(a)}
/// V plays no part. Cost: milliseconds; for finitely many queries some 100 d values of Λ for each.
std::vector<Assumption> assumptions(const AttentionLayer& layer, const Execution& execution = {});

}  // namespace largo
