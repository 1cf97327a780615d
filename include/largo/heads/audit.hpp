// An audit of captured heads: which of them behave as the limit of long prompts says?
//
// For a head and each of its queries q, over the n keys k_j and values v_j that the query sees:
//
//   scores s_j = scale <q, k_j>,   weights p_j = e^{s_j}/Σ e^{s_i},   output T = Σ p_j v_j.
//
// Statistics of a head are medians over its queries. A replacement T̃ of the output has the relative error
// Σ ‖T - T̃‖² / Σ ‖T‖², sums over queries:
//
//   uniform        T̃ = v̄, the mean of the values
//   affine         T̃ = v̄ + Cov(v, k) scale q, the covariance over the n keys, divided by n
//   sinks_affine   sinks and recent tokens as they are; the m others are one Gaussian class of weight
//                  e^{ln m + <k̄, u> + ½ uᵀCov(k)u}, u = scale q, and value v̄ + Cov(v, k) u
//   mixture        the same, the others being several classes: those of a Gaussian mixture over (k, v)
//
// The histogram of the scores pools (s_j - s̄)/σ of all queries, s̄ and σ being those of the query's own
// scores.
//
// docs/heads.md has the definitions in full, with what they do not show.
#pragma once

#include <vector>

#include "largo/heads/audit_options.hpp"
#include "largo/heads/capture.hpp"
#include "largo/heads/head_audit.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// Audits every head of the capture. InputError for numbers that are not finite in any of its heads, scores
/// that are more than 1e6 apart, values that are all below 1e-140 and not all zero, or one above 1e140, and
/// sinks that are not in the prompt. Same bits for any execution and block.
///
/// Cost: for each query and key about 4 head_dim products and 25 other operations in double precision, a
/// nanosecond for each 2 to 8; memory beyond the capture: 32 MB for each thread, a byte for each token
/// and 2.5 kB for each audited query of each head.
std::vector<HeadAudit> audit(const Capture& capture, const AuditOptions& options = {},
                             const Execution& execution = {});

}  // namespace largo
