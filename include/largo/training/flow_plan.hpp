// How far and how accurately a gradient flow is followed.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "largo/runtime/matrix.hpp"

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
  double relative_tolerance = 1e-9;  ///< of each parameter, in a step
  /// For parameters close to zero: of their natural size, at which they would matter for the risk as much as
  /// those that matter most (by the curvature; for krylov, of the root mean square of all parameters).
  double absolute_tolerance = 1e-12;
  /// Stationary is where the gradient, times the natural sizes, is below kStationaryGradient of risk_scale
  /// (or 1e-5 relative_tolerance, if that is more) and the way still to go, by the curvature, below this, of
  /// the natural sizes; along directions in which the gradient is rounding only, that is enough. At three
  /// steps in a row. So valleys of the risk are followed to their end, unless they are flatter than 1e-12 of
  /// it: such a flow is flat, see FlowResult. Where curvature vanishes with the slope, as along x⁴, it is
  /// stationary where a step of the natural size would change the risk by less than its rounding. (Krylov:
  /// below kStationaryGradient of the steepest on the way, the way still to go being the gradient over its
  /// rate of decay, and no component of it standing still meanwhile; what decays more slowly in other
  /// directions than the coordinates' it does not see, nor a slope away from a saddle that is rounding.)
  double stationary_tolerance = 1e-9;
  /// How large changes of the risk are that matter; 0: the largest product of gradient and natural size on
  /// the way. To be given for starts from where the risk falls by more than ten orders of magnitude.
  double risk_scale = 0;
  std::int64_t most_steps = 20000;
  std::vector<ConservedQuantity> conserved = {};
  std::function<void(double time, double gradient_norm)> progress = {};  ///< after each step
};

inline constexpr double kStationaryGradient = 1e-12;

}  // namespace largo
