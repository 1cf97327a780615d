// The risks R_L of in-context regression (regression_problem.hpp), without drawing prompts, for every L.
//
//   R_L(U, v) = ½ E_{w, x_q} [ (c - y)² + c² (F - 1) + κ p + 2 c y p ],
//
// with u = γU(x_q, 0), γ the scale of the scores, s² = uᵀΓ_w u, c = vᵀΓ_w u, κ = vᵀΓ_w v, y = <w, x_q>, and p
// = E[P_2], F = 1 - p - 6 E[P_3] + 6 E[P_2²] at (s, L). The first term is R_∞, a polynomial. docs/icl.md
// derives this. Linear attention over L tokens has a polynomial risk too: ½ E [ (c - y)² + (c² + κ s²)/L ].
#pragma once

#include <memory>

#include "largo/attention/attention.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/numerics/execution.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// R_L(A, b) on the invariant set U = [[A, 0], [0, 0]], v = (0, b), in the parameters of invariant_map().
/// There s² is a quadratic form of x_q alone and w integrates out: what is left is one integral over s².
/// Domain: 1 <= L <= kLargestL or L = ∞. Error: 1e-9 of R_L - R_∞ with its estimate; rounding where the risk
/// is a polynomial (linear attention, L = ∞). Cost: 0.5 ms for d = 5, 1 ms for d = 10, whatever L is (20 µs
/// where AᵀΣA is a multiple of Σ_q^-1, as for A = aI, Σ = Σ_q = I), some µs for a polynomial; the first time
/// a SoftmaxTable.
std::shared_ptr<const Risk> invariant_risk(const RegressionProblem& problem, AttentionKind attention,
                                           double L);

/// How the average over (w, x_q) is taken where quadrature (exact_risk.hpp) is too slow: along flows.
struct TaskNodes {
  std::int64_t count = 4096;  ///< rounded up to a power of two, at least 512
  std::uint64_t seed = 1;     ///< of the shift
};

/// R_L(U, v) for any parameters, in the layout of to_vector(). Polynomials (linear attention, L = ∞) are
/// averaged exactly, by a rule of degree 5 in w. Softmax risks are averages over points (w, x_q) of Sobol's
/// sequence after a random digital shift, moved outwards and weighted accordingly, so that pairs of large w
/// and x_q are among them, each with (-w, x_q), so that the invariant set stays one; up to 8192 with weights
/// that make second moments and their products exact. The error is 5.41 standard errors of eight
/// parts (Student's t is beyond in 1e-3 of all cases), each without what the weights make exact: well above
/// the error of the average of all. At very long lengths even these points may miss what R_L - R_∞ is made
/// of, and the spread of the parts does not show it: exact_risk() does not depend on points. Prompts are
/// integrated exactly (by a table to 1e-6). The gradient is that of the average, and no point's share is
/// negative: flows cannot escape through its error. Cost: 25 ns a node for d = 5, 5 µs for polynomials;
/// weights once, 0.3 s for 8192 nodes.
std::shared_ptr<const Risk> general_risk(const RegressionProblem& problem, AttentionKind attention, double L,
                                         const TaskNodes& nodes = {}, const Execution& execution = {});

}  // namespace largo
