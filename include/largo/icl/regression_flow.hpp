// Training by gradient flow on the exact risks of in-context regression, from the paper's start: at every L,
// at a cost that does not depend on it.
#pragma once

#include <limits>
#include <memory>

#include "largo/attention/attention_kind.hpp"
#include "largo/icl/invariant_set.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/training/gradient_flow.hpp"
#include "largo/training/parameter_map.hpp"

namespace largo {

struct RegressionFlow {
  double L = 1;
  AttentionKind attention = AttentionKind::softmax;
  FlowResult flow;      ///< in the parameters of `map`
  InvariantPoint last;  ///< at its end
  /// Of a flow to its end: what the risk may still fall by, because some directions move too slowly to be
  /// told from rounding. An estimate, by the curvature of linear attention, one entry of A at a time.
  double unfinished = 0;
  std::shared_ptr<const ParameterMap> map;  ///< to the parameters of invariant_risk()
};

/// The flow on invariant_risk() at length L, in flow_parameters(); the balance is its conserved quantity.
/// Computed in units in which the covariances are of size one: units of the data do not matter. A flow to its
/// end is flat (FlowResult), not stationary, where more than 1e-12 of the risk of predicting zero is
/// unfinished, and nowhere else: in directions in which tokens have little variance it hardly moves. Errors:
/// gradient_flow; InputError also where times or risks leave the range of doubles. Cost: some 400 evaluations
/// of the risk at L = 100, 1500 at L = 1e9.
RegressionFlow regression_flow(const RegressionProblem& problem, AttentionKind attention, double L,
                               const InvariantPoint& start, const FlowPlan& plan = {},
                               const Execution& execution = {});

/// How far a flow is from another of the same problem, up to `horizon`: suprema over time.
struct FlowDistance {
  TrajectoryDistance parameters;  ///< |(A, b) - (A', b')|
  TrajectoryDistance risks;       ///< |R_L(A, b) - R_L'(A', b')|, each with its own length
  TrajectoryDistance
      predictions;  ///< root mean square, over tasks and queries, of the difference of <w, γbΣA x_q>
  TrajectoryDistance gradients;  ///< |∇R_L - ∇R_L'| along the path of the second: what the theory controls
};
/// InputError for flows of another dimension than the problem's.
FlowDistance flow_distance(const RegressionProblem& problem, const RegressionFlow& one,
                           const RegressionFlow& two,
                           double horizon = std::numeric_limits<double>::infinity());

}  // namespace largo
