// How long and how accurately a gradient flow is followed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo {

/// A function of the parameters that should stay constant along the flow.
struct ConservedQuantity {
  std::string name;
  std::function<double(const Vector& parameters)> value;
};

/// Flows towards a minimum are stiff. They are integrated by backward differentiation, whose steps grow as
/// the flow slows down. The method says how its linear systems are solved.
enum class FlowMethod : std::uint8_t {
  dense,   ///< with a Jacobian from differences, kept for many steps: for up to about 50 parameters, and for
           ///< long paths through flat valleys
  krylov,  ///< by GMRES, with three to five gradients a step: for many parameters and moderate times
};

struct FlowPlan {
  /// The time at which to stop; infinity: when the flow is stationary.
  double end = std::numeric_limits<double>::infinity();
  FlowMethod method = FlowMethod::dense;
  double relative_tolerance = 1e-9;  ///< allowed error of each parameter in a step
  /// Allowed error of parameters close to zero, relative to their natural size. That is the size at which a
  /// parameter would matter for the risk as much as those that matter most, judged by the curvature; for
  /// krylov, it is the root mean square of all parameters.
  double absolute_tolerance = 1e-12;
  /// A flow is stationary when two conditions hold at three steps in a row. First, the gradient times the
  /// natural sizes is below kStationaryGradient of risk_scale, or below 1e-5 relative_tolerance if that is
  /// more. Second, the distance still to go, by the curvature, is below this tolerance, in units of the
  /// natural sizes; this is not required along directions in which the gradient is only rounding. So valleys
  /// of the risk are followed to their end, unless their curvature is below 1e-12 of the largest: such a flow
  /// is flat, see FlowResult. Where the curvature vanishes with the slope, as along x⁴, the flow is
  /// stationary if a step of the natural size would change the risk by less than its rounding. (Krylov: the
  /// gradient must be below kStationaryGradient of the steepest on the way, the distance still to go is the
  /// gradient over its rate of decay, and no component of the gradient may stand still meanwhile. Krylov does
  /// not see a slower decay in directions other than the coordinates, nor a slope away from a saddle that is
  /// only rounding.)
  double stationary_tolerance = 1e-9;
  /// The size of changes of the risk that matter; 0: the largest product of gradient and natural size on the
  /// way. Give it if the risk falls by more than ten orders of magnitude from the start.
  double risk_scale = 0;
  std::int64_t most_steps = 20000;
  std::vector<ConservedQuantity> conserved = {};
  std::function<void(double time, double gradient_norm)> progress = {};  ///< called after each step
};

inline constexpr double kStationaryGradient = 1e-12;

}  // namespace largo
