// The risk R_L of in-context regression for any parameters, averaged over tasks and queries at nodes. It is
// fast enough to train on. invariant_risk.hpp has the formula; exact_risk.hpp has the same risk at one point,
// without nodes.
#pragma once

#include <cstdint>
#include <memory>

#include "largo/attention/attention_kind.hpp"
#include "largo/exact/length_law.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// The nodes for the average over (w, x_q), used along flows, where quadrature (exact_risk.hpp) is too slow.
struct TaskNodes {
  std::int64_t count = 4096;  ///< rounded up to a power of two, at least 512
  std::uint64_t seed = 1;     ///< seed of the random shift
};

/// R_L(U, v) for any parameters, in the layout of to_vector(). Polynomials (linear attention, L = ∞) are
/// averaged exactly, by a rule of degree 5 in w. Softmax risks are averages over points (w, x_q) of Sobol's
/// sequence after a random digital shift. The points are moved outwards and weighted accordingly, so that
/// they include pairs of large w and x_q. Each comes with (-w, x_q), so that the invariant set stays
/// invariant. With up to 8192 points the weights also make second moments and their products exact. Prompts
/// are integrated exactly (by a table to 1e-6). The reported error is 5.41 standard errors of eight parts
/// (Student's t exceeds that in 1e-3 of all cases). The parts lack what the weights make exact for the whole,
/// so this is well above the error of the whole average. At very long lengths even these points may miss what
/// R_L - R_∞ consists of, and the spread of the parts does not show it; exact_risk() does not depend on
/// points. The gradient is that of the average, and no point has a negative share, so flows cannot escape
/// through its error. Cost: 25 ns a node for d = 5, 5 µs for polynomials; the weights, once, 0.3 s for 8192
/// nodes.
std::shared_ptr<const Risk> general_risk(const RegressionProblem& problem, AttentionKind attention,
                                         const LengthLaw& L, const TaskNodes& nodes = {},
                                         const Execution& execution = {});

/// As general_risk() for softmax attention, but over the nodes for every L. In differences between lengths
/// the error of the nodes then cancels in the part that they share.
std::shared_ptr<const Risk> softmax_risk_over_nodes(const RegressionProblem& problem, const LengthLaw& L,
                                                    const TaskNodes& nodes, const Execution& execution);

/// R_L(U, v) of softmax attention over nodes, by the better of two ways. One is R_∞, which is exact, plus the
/// average of R_L - R_∞. The other is the average of R_L; it has the smaller error for large scores, for
/// which R_∞ is far above R_L. Errors are those of general_risk().
Estimate softmax_risk_estimate(const RegressionProblem& problem, const LengthLaw& L,
                               const RegressionParameters& given, const TaskNodes& nodes,
                               const Execution& execution);

}  // namespace largo
