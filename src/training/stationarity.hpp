// Decides whether a gradient flow has come to its end.
#pragma once

#include <optional>

#include "training/flow_integrator.hpp"

namespace largo::training {

/// If the gradient, in natural sizes (NaturalSizes), is below kStationaryGradient of the risk that matters,
/// the distance to go is H^-1 ∇R. The flow is at its end if this is below the tolerance along every
/// direction, except those in which the gradient or the curvature cannot be told from rounding. Without a
/// Hessian (krylov) the distance is |∇R| over its rate of decay. This must hold at kSettledSteps successive
/// steps.
class Stationarity {
 public:
  Stationarity(const FlowPlan& plan, const Vector& start, const RiskPoint& first, FlowIntegrator& integrator);

  /// Must be called after every step; returns whether it is the end.
  bool at(double time, const Vector& parameters, const RiskPoint& point);

  /// At an end: whether there is a direction in which the gradient is more than rounding, but the risk is so
  /// flat that nothing tells how far the flow would go on.
  bool is_flat() const { return flat_; }

  /// The distance to go, if it is known.
  std::optional<double> to_go() const { return to_go_; }

 private:
  bool is_still(double time, const Vector& parameters, const RiskPoint& point);
  bool is_still_by_decay(double time, const Vector& parameters, const RiskPoint& point);
  bool stands_still(const Vector& parameters, const Vector& gradient, double near) const;
  bool is_still_by_curvature(const Vector& parameters, const Vector& gradient);

  const FlowPlan& plan_;
  FlowIntegrator& integrator_;
  double first_risk_;
  int settled_ = 0;
  bool flat_ = false;
  double steepest_ = 0, largest_;  // largest so far: of gradients (with sizes: of risks), of parameters
  double time_ = 0;
  Vector parameters_, gradient_;  // of the step before
  std::optional<double> to_go_;
};

}  // namespace largo::training
