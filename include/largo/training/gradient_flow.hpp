// Gradient flow: dθ/dt = -∇R(θ), by CVODE (A. C. Hindmarsh et al., SUNDIALS, ACM Trans. Math. Softw. 31,
// 2005), with steps of variable size and order.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "largo/numerics/execution.hpp"
#include "largo/training/risk.hpp"
#include "largo/training/trajectory.hpp"

namespace largo {

/// A number that the flow should not change.
struct ConservedQuantity {
  std::string name;
  std::function<double(const Vector& parameters)> value;
};

/// Flows towards a minimum are stiff: backward differentiation, whose steps are as long as the flow is slow.
/// Its linear systems:
enum class FlowMethod : std::uint8_t {
  dense,   ///< with a Jacobian from differences, kept for many steps: for up to some 50 parameters, and for
           ///< long ways through flat valleys
  krylov,  ///< by GMRES, three to five gradients a step: for many parameters and moderate times
};

struct FlowPlan {
  /// The time to reach; infinity: until stationary.
  double end = std::numeric_limits<double>::infinity();
  FlowMethod method = FlowMethod::dense;
  double relative_tolerance = 1e-9;   ///< of each parameter, in a step
  double absolute_tolerance = 1e-12;  ///< for parameters close to zero
  /// Stationary is where the gradient is below kStationaryGradient of the steepest on the way and the way
  /// still to go, the gradient over its rate of decay, below this (times 1 + |θ|); or where it is below 1e-13
  /// and the way in as much time again is; or where it is rounding only. At three steps in a row. So valleys
  /// of the risk are followed to their end, unless they are flatter than 1e-13.
  double stationary_tolerance = 1e-9;
  std::int64_t most_steps = 20000;
  std::vector<ConservedQuantity> conserved = {};
  std::function<void(double time, double gradient_norm)> progress = {};  ///< after each step
};

inline constexpr double kStationaryGradient = 1e-12;

struct FlowResult {
  Trajectory trajectory;  ///< the start and every step
  RiskPoint last;         ///< at the end
  bool stationary = false;
  double to_go = 0;           ///< estimate of the distance to the stationary point
  std::vector<double> drift;  ///< largest change of each conserved quantity
  std::int64_t evaluations = 0;
};

/// Domain: finite start of the risk's size, tolerances > 0, end > 0; otherwise InputError. A flow that leaves
/// every bound, or is not stationary after most_steps steps, is an error too, with a remedy. Throws Stopped
/// when stopped. Error: some ten times the tolerances, in parameters; smaller where the flow contracts. The
/// same bits on every machine of one kind. Cost: three evaluations of the risk a step, and four for each
/// parameter every 20 to 50 steps (dense); five a step (krylov).
FlowResult gradient_flow(const Risk& risk, const ConstVectorRef& start, const FlowPlan& plan = {},
                         const Execution& execution = {});

}  // namespace largo
