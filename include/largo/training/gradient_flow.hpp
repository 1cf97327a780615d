// Gradient flow dθ/dt = -∇R(θ), integrated by CVODE (A. C. Hindmarsh et al., SUNDIALS, ACM Trans. Math.
// Softw. 31, 2005) with steps of variable size and order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "largo/runtime/execution.hpp"
#include "largo/training/flow_plan.hpp"
#include "largo/training/risk.hpp"
#include "largo/training/trajectory.hpp"

namespace largo {

struct FlowResult {
  Trajectory trajectory;  ///< the start and the end of every step
  RiskPoint last;         ///< the risk at the end
  bool stationary = false;
  /// True if the flow was to run until stationary, but stopped in a valley. The gradient there is more than
  /// rounding, but the curvature cannot be told from it (1e-12 of the largest, or less). So it is not known
  /// how far the valley continues, nor by how much the risk falls along it.
  bool flat = false;
  /// An estimate of the distance to the stationary point, if there is one. Krylov has none, except 0 where
  /// the gradient is zero.
  std::optional<double> to_go;
  std::vector<double> drift;  ///< largest change of each conserved quantity
  std::int64_t evaluations = 0;
};

/// Follows the flow from `start`. Units do not matter: R(θ) and a R(kθ) have the same flow except for units,
/// bit-identical if a and k are powers of two; and parameters may differ in size by many orders of magnitude
/// (dense). Domain: a finite start of the risk's size, tolerances > 0, end > 0; otherwise InputError. It is
/// also an InputError, with a remedy, if the flow moves 1e100 times as far as its start (or as the distance
/// at which its first slope reaches a risk of zero), ends at a higher risk than it began with, meets a risk
/// or gradient that is not finite, or is not stationary after most_steps steps. So all numbers returned are
/// finite. Throws Stopped. Error: about ten times the tolerances, in parameters; smaller where the flow
/// contracts. Results are bit-identical on all machines of one kind. Cost: three evaluations of the risk a
/// step, and four for each parameter every 20 to 50 steps (dense); five a step (krylov).
FlowResult gradient_flow(const Risk& risk, const ConstVectorRef& start, const FlowPlan& plan = {},
                         const Execution& execution = {});

}  // namespace largo
