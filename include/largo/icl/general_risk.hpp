// The risk R_L of in-context regression for any parameters, averaged over tasks and queries at nodes: fast
// enough to train on. invariant_risk.hpp has the formula, exact_risk.hpp the same risk at one point, without
// nodes.
#pragma once

#include <cstdint>
#include <memory>

#include "largo/attention/attention_kind.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/training/risk.hpp"

namespace largo {

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

/// As general_risk() for softmax attention, but over the nodes for every L: differences between lengths then
/// have no error of the nodes in what they share.
std::shared_ptr<const Risk> softmax_risk_over_nodes(const RegressionProblem& problem, double L,
                                                    const TaskNodes& nodes, const Execution& execution);

/// R_L(U, v) of softmax attention over nodes, the better of two ways: R_∞, which is exact, and the average of
/// R_L - R_∞; or the average of R_L, where that has the smaller error (large scores, for which R_∞ is far
/// above R_L). Errors as those of general_risk().
Estimate softmax_risk_estimate(const RegressionProblem& problem, double L, const RegressionParameters& given,
                               const TaskNodes& nodes, const Execution& execution);

}  // namespace largo
