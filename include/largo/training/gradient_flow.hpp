// Gradient flow: dθ/dt = -∇R(θ), by CVODE (A. C. Hindmarsh et al., SUNDIALS, ACM Trans. Math. Softw. 31,
// 2005), with steps of variable size and order.
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
  Trajectory trajectory;  ///< the start and every step
  RiskPoint last;         ///< at the end
  bool stationary = false;
  /// It was to run until stationary, and stopped in a valley whose gradient is more than rounding, but whose
  /// curvature cannot be told from it (1e-12 of the largest, and less): how far the valley goes on, and what
  /// the risk falls by along it, is not known.
  bool flat = false;
  /// The distance to the stationary point, where there is an estimate: with krylov there is none, but for 0
  /// where the gradient is zero.
  std::optional<double> to_go;
  std::vector<double> drift;  ///< largest change of each conserved quantity
  std::int64_t evaluations = 0;
};

/// Units do not matter: R(θ) and a R(kθ) have the same flow but for units, to the bit where a and k are
/// powers of two; and parameters may differ in size by many orders of magnitude (dense). Domain: finite start
/// of the risk's size, tolerances > 0, end > 0; otherwise InputError. A flow that comes 1e100 times as far as
/// its start (or the way at its slope to a risk of zero), ends at a higher risk than it began with, meets a
/// risk or gradient that is not finite, or is not stationary after most_steps steps, is an error too, with a
/// remedy: all that comes back is finite. Throws Stopped when stopped. Error: some ten times the tolerances,
/// in parameters; smaller where the flow contracts. The same bits on every machine of one kind. Cost: three
/// evaluations of the risk a step, and four for each parameter every 20 to 50 steps (dense); five a step
/// (krylov).
FlowResult gradient_flow(const Risk& risk, const ConstVectorRef& start, const FlowPlan& plan = {},
                         const Execution& execution = {});

}  // namespace largo
