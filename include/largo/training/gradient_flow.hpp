// Gradient flow: dθ/dt = -∇R(θ), by CVODE (A. C. Hindmarsh et al., SUNDIALS, ACM Trans. Math. Softw. 31,
// 2005), with steps of variable size and order.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
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
