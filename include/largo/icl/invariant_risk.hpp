// The risk R_L of in-context regression (regression_problem.hpp) on the invariant set, for every L.
//
//   R_L(U, v) = ½ E_{w, x_q} [ (c - y)² + c² (F - 1) + κ p + 2 c y p ],
//
// with Γ_w the covariance of the tokens (x, y) given the task w, u = γU(x_q, 0), γ the scale of the scores,
// s² = uᵀΓ_w u, c = vᵀΓ_w u, κ = vᵀΓ_w v, y = <w, x_q>, and p = E[P_2], F = 1 - p - 6 E[P_3] + 6 E[P_2²] at
// (s, L). The first term is R_∞, a polynomial. docs/icl.md derives this. Linear attention over L tokens has a
// polynomial risk, too: ½ E [ (c - y)² + (c² + κ s²)/L ].
#pragma once

#include <memory>

#include "largo/attention/attention_kind.hpp"
#include "largo/exact/length_law.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// R_L(A, b) on the invariant set U = [[A, 0], [0, 0]], v = (0, b), in the parameters of invariant_map().
/// There s² is a quadratic form of x_q alone, and w integrates out; one integral over s² is left. Domain:
/// 1 <= L <= kLargestL or L = ∞. Error: 1e-9 of the terms of R_L - R_∞ up to L = 1e15, reported as an
/// estimate from above, at most 2e-9; beyond, that of SoftmaxTable rises to 1e-7 at L = 1e300. Only rounding
/// if the risk is a polynomial (linear attention, L = ∞). Cost: 0.5 ms for d = 5 and 1 ms for d = 10; 20 µs
/// if AᵀΣA is a multiple of Σ_q^-1, as for A = aI, Σ = Σ_q = I; a few µs for a polynomial; the first time,
/// also a SoftmaxTable. With scores beyond s = 2 to 4 twice that up to L = 1e8, three times up to 1e20, and
/// 20 ms for d = 5 at 1e300.
std::shared_ptr<const Risk> invariant_risk(const RegressionProblem& problem, AttentionKind attention,
                                           const LengthLaw& L);

}  // namespace largo
