#include "largo/training/gradient_flow.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "largo/runtime/check.hpp"
#include "training/flow_integrator.hpp"
#include "training/stationarity.hpp"

namespace largo {
namespace {

constexpr const char* kGradientFlow = "gradient_flow";
constexpr double kFarAway = 1e100;  // relative to the start, or to the distance to zero risk at its slope
constexpr double kNearZero = 1e-50;
constexpr double kRise = 0.01;       // relative to the risk
constexpr double kShortStep = 1e-4;  // relative to the whole way

void check(const Risk& risk, const ConstVectorRef& start, const FlowPlan& plan) {
  check_size(kGradientFlow, "start", start.size(), risk.size());
  check_finite(kGradientFlow, "start", start);
  check_positive(kGradientFlow, "relative_tolerance", plan.relative_tolerance);
  check_positive(kGradientFlow, "absolute_tolerance", plan.absolute_tolerance);
  check_positive(kGradientFlow, "stationary_tolerance", plan.stationary_tolerance);
  check_nonnegative(kGradientFlow, "risk_scale", plan.risk_scale);
  if (!(plan.end > 0)) fail(kGradientFlow, "end", plan.end, "a time after 0, or infinity");
  if (plan.most_steps < 1)
    fail(kGradientFlow, "most_steps", static_cast<double>(plan.most_steps), "at least 1");
}

// How far from zero a flow may go; infinity if the start is so large that only overflow is a bound. A start
// near zero, with a risk near zero, tells nothing about how far the minimum is.
double bound_of(const ConstVectorRef& start, const RiskPoint& first) {
  const double way = std::abs(first.value) / training::norm_of(first.gradient);
  const double unit = std::max(training::norm_of(start), way);
  return kFarAway * (unit > kNearZero ? unit : 1);
}

// A flow goes down. If it goes to infinity, or up, its gradient may be that of another function.
void check_bounds(double time, const Vector& here, const RiskPoint& point, double first_risk, double bound) {
  const double norm = training::norm_of(here), slope = training::norm_of(point.gradient);
  if (norm <= bound) return;
  fail(kGradientFlow,
       fmt::format("the flow leaves every bound: at t = {:.6g}, |parameters| = {:.3g} and |gradient| = "
                   "{:.3g}{}",
                   time, norm, slope,
                   point.value > first_risk ? "; the risk rises on the way, so check the sign of the gradient"
                                            : "; the risk has no minimum on this way"));
}

// Rejects a risk that rises by more than errors of steps can explain and that falls along its gradient where
// this is steepest. (The bounds do not suffice: a flow in a given time may end before it is far away, and a
// maximum is stationary too.)
void check_fall(const Risk& risk, const Trajectory& trajectory) {
  const std::vector<TrajectoryPoint>& points = trajectory.points();
  const double first = points.front().risk, last = points.back().risk;
  if (!(last - first > kRise * std::max(std::abs(first), std::abs(last)))) return;
  const auto steepest = std::max_element(
      points.begin(), points.end(),
      [](const TrajectoryPoint& a, const TrajectoryPoint& b) { return a.gradient_norm < b.gradient_norm; });
  const Vector slope = training::finite_risk(risk, steepest->parameters).gradient;
  const double length = training::norm_of(points.back().parameters - points.front().parameters);
  const Vector step = kShortStep * length / training::norm_of(slope) * slope;
  if (training::finite_risk(risk, steepest->parameters + step).value >=
      training::finite_risk(risk, steepest->parameters - step).value) {
    return;
  }
  fail(kGradientFlow,
       fmt::format("the risk rises, from {:.6g} to {:.6g}, where a gradient flow makes it fall: the "
                   "gradient is not that of the risk, check its sign",
                   first, last));
}

// The first values of conserved quantities, and how far they drift.
class Drift {
 public:
  Drift(const FlowPlan& plan, const Vector& start) : plan_(plan), largest_(plan.conserved.size(), 0) {
    for (const ConservedQuantity& quantity : plan.conserved) first_.push_back(quantity.value(start));
  }
  void look(const Vector& here) {
    for (std::size_t i = 0; i < first_.size(); ++i) {
      largest_[i] = std::max(largest_[i], std::abs(plan_.conserved[i].value(here) - first_[i]));
    }
  }
  const std::vector<double>& largest() const { return largest_; }

 private:
  const FlowPlan& plan_;
  std::vector<double> first_, largest_;
};

}  // namespace

FlowResult gradient_flow(const Risk& risk, const ConstVectorRef& start, const FlowPlan& plan,
                         const Execution& execution) {
  check(risk, start, plan);
  FlowResult result;
  result.last = training::finite_risk(risk, start);
  const double first_risk = result.last.value;
  Drift drift(plan, start);
  result.drift = drift.largest();
  result.trajectory.add({0, start, first_risk, training::norm_of(result.last.gradient)}, start);
  if (result.last.gradient.isZero(0)) {
    result.stationary = true;
    result.to_go = 0;
    return result;
  }
  training::FlowIntegrator integrator(risk, start, result.last, plan, execution);
  training::Stationarity stationarity(plan, start, result.last, integrator);
  const bool to_the_end = std::isinf(plan.end);
  const double bound = bound_of(start, result.last);
  double time = 0;
  for (std::int64_t step = 0; step < plan.most_steps && time < plan.end && !result.stationary && !result.flat;
       ++step) {
    time = integrator.step();
    const Vector here = integrator.parameters();
    result.last = training::finite_risk(risk, here);
    check_bounds(time, here, result.last, first_risk, bound);
    const double norm = training::norm_of(result.last.gradient);
    result.trajectory.add({time, here, result.last.value, norm}, integrator.values_on_step());
    drift.look(here);
    if (plan.progress) plan.progress(time, norm);
    const bool still = stationarity.at(time, here, result.last);
    result.stationary = still && !stationarity.is_flat();
    // With an end time, the valley is followed up to that time.
    result.flat = still && stationarity.is_flat() && to_the_end;
    // Nothing moves any more, so the rest of the time needs no steps.
    if (result.stationary && !to_the_end && time < plan.end) {
      time = plan.end;
      result.trajectory.add({time, here, result.last.value, norm}, here);
    }
  }
  check_fall(risk, result.trajectory);
  result.to_go = stationarity.to_go();
  result.drift = drift.largest();
  result.evaluations =
      integrator.evaluations() + static_cast<std::int64_t>(result.trajectory.points().size());
  if (to_the_end && !result.stationary && !result.flat) {
    fail(kGradientFlow,
         fmt::format("not stationary after {} steps, at t = {:.4g} (|gradient| = {:.2g}): give an end "
                     "in time, or more steps",
                     plan.most_steps, time, training::norm_of(result.last.gradient)));
  }
  if (time < plan.end && !to_the_end) {
    fail(kGradientFlow, fmt::format("t = {:.6g} of {:.6g} after {} steps: allow more, or larger tolerances",
                                    time, plan.end, plan.most_steps));
  }
  return result;
}

}  // namespace largo
