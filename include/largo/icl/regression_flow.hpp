// Training by gradient flow on the exact risks of in-context regression, from the paper's start, at any L.
// The cost does not depend on L.
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
  LengthLaw L = 1;
  AttentionKind attention = AttentionKind::softmax;
  FlowResult flow;      ///< the flow in the parameters of `map`
  InvariantPoint last;  ///< the end of the flow
  /// How much the risk may still fall, for a flow to its end: some directions move too slowly to be told from
  /// rounding. An estimate from the curvature of linear attention, one entry of A at a time.
  double unfinished = 0;
  std::shared_ptr<const ParameterMap> map;  ///< from these to the parameters of invariant_risk()
};

/// The flow on invariant_risk() at length L, in flow_parameters(). Its conserved quantity is the balance. It
/// is computed in units in which the covariances are of size one, so units of the data do not matter. A flow
/// to its end is flat (FlowResult), and not stationary, exactly if more than 1e-12 of the risk of predicting
/// zero is unfinished; this happens because the flow hardly moves in directions in which tokens have little
/// variance. Errors: those of gradient_flow; also InputError if times or risks leave the range of doubles.
/// Cost: about 400 evaluations of the risk at L = 100, and 1500 at L = 1e9.
RegressionFlow regression_flow(const RegressionProblem& problem, AttentionKind attention, const LengthLaw& L,
                               const InvariantPoint& start, const FlowPlan& plan = {},
                               const Execution& execution = {});

/// Distances between two flows of the same problem, as suprema over time up to `horizon`.
struct FlowDistance {
  TrajectoryDistance parameters;  ///< |(A, b) - (A', b')|
  TrajectoryDistance risks;       ///< |R_L(A, b) - R_L'(A', b')|, each at its own length
  TrajectoryDistance
      predictions;  ///< root mean square, over tasks and queries, of the difference of <w, γbΣA x_q>
  TrajectoryDistance gradients;  ///< |∇R_L - ∇R_L'| along the second path; this is what the theory controls
};
/// InputError if the flows have another dimension than the problem.
FlowDistance flow_distance(const RegressionProblem& problem, const RegressionFlow& one,
                           const RegressionFlow& two,
                           double horizon = std::numeric_limits<double>::infinity());

}  // namespace largo
