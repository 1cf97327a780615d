#include "training/stationarity.hpp"

#include <algorithm>
#include <cmath>

#include "numerics/factor.hpp"

namespace largo::training {
namespace {

constexpr int kSettledSteps = 3;
// Relative to the steepest gradient, or to the terms of which the rounding of the parameters is the last bit:
constexpr double kGradientNoise = 4e-15;    // is rounding
constexpr double kFlatGradient = 1e-13;     // may be rounding
constexpr double kSlow = 10;                // times the distance that the whole gradient still has to go
constexpr double kStepGradient = 1e-5;      // times the relative tolerance: left by the errors of long steps
constexpr double kFlat = 1e-12;             // of the largest curvature: differences of gradients give no more
constexpr double kSaddle = 1e-4;            // likewise: more negative ones are not errors of differences
constexpr double kValueRounding = 2.2e-16;  // relative to the risk that matters: how far it may still fall

// A gradient that turns from step to step without becoming smaller is rounding, however large its terms.
bool is_noise(const Vector& before, const Vector& now) {
  const double norm = norm_of(before);
  return norm_of(now) >= 0.5 * norm && norm_of(now - before) >= 0.5 * norm;
}

}  // namespace

Stationarity::Stationarity(const FlowPlan& plan, const Vector& start, const RiskPoint& first,
                           FlowIntegrator& integrator)
    : plan_(plan),
      integrator_(integrator),
      first_risk_(first.value),
      largest_(start.cwiseAbs().maxCoeff()),
      parameters_(start),
      gradient_(first.gradient) {
  const NaturalSizes& sizes = integrator.sizes();
  steepest_ = sizes.has_curvature() ? gradient_.cwiseProduct(sizes.at(start)).cwiseAbs().maxCoeff()
                                    : norm_of(gradient_);
}

bool Stationarity::at(double time, const Vector& parameters, const RiskPoint& point) {
  largest_ = std::max(largest_, parameters.cwiseAbs().maxCoeff());
  settled_ = is_still(time, parameters, point) ? settled_ + 1 : 0;
  time_ = time;
  parameters_ = parameters;
  gradient_ = point.gradient;
  return settled_ >= kSettledSteps;
}

bool Stationarity::is_still(double time, const Vector& parameters, const RiskPoint& point) {
  to_go_.reset();
  flat_ = false;
  if (point.gradient.isZero(0)) {
    to_go_ = 0;
    return true;
  }
  return integrator_.sizes().has_curvature() ? is_still_by_curvature(parameters, point.gradient)
                                             : is_still_by_decay(time, parameters, point);
}

bool Stationarity::is_still_by_decay(double time, const Vector& parameters, const RiskPoint& point) {
  const Vector& gradient = point.gradient;
  const double before = norm_of(gradient_), now = norm_of(gradient);
  steepest_ = std::max(steepest_, now);
  const double rate = std::log(before / now) / (time - time_);
  const double near = plan_.stationary_tolerance * std::max(largest_, norm_of(parameters));
  const bool small = now <= kStationaryGradient * steepest_;
  if (small && (is_noise(gradient_, gradient) || (rate > 0 && now / rate <= near)) &&
      !stands_still(parameters, gradient, kSlow * near)) {
    return true;
  }
  const bool rounding = now <= kGradientNoise * steepest_;
  // The rest of the way makes no difference to the risk, as along x⁴.
  if (rounding && rate > 0 && now * (now / rate) <= kValueRounding * (first_risk_ - point.value)) return true;
  // Otherwise the flow may never end, as along 1/x, which has no minimum.
  flat_ = rounding || (now <= kFlatGradient * steepest_ && now * time <= near);
  return flat_;
}

// Whether one component of the gradient hardly changes along its way while the others fall: these tell
// nothing about how far it still goes. (A component that no longer moves is at rest.)
bool Stationarity::stands_still(const Vector& parameters, const Vector& gradient, double near) const {
  for (Eigen::Index k = 0; k < gradient.size(); ++k) {
    const double size = std::abs(gradient[k]), moved = std::abs(parameters[k] - parameters_[k]);
    if (size > kGradientNoise * steepest_ && size * moved > near * std::abs(gradient[k] - gradient_[k])) {
      return true;
    }
  }
  return false;
}

bool Stationarity::is_still_by_curvature(const Vector& parameters, const Vector& gradient) {
  const NaturalSizes& natural = integrator_.sizes();
  steepest_ = std::max(steepest_, gradient.cwiseProduct(natural.at(parameters)).cwiseAbs().maxCoeff());
  const auto scale_of_risk = [&] {
    return std::max(plan_.risk_scale > 0 ? plan_.risk_scale : steepest_, natural.risk_at(parameters));
  };
  const auto slope_in = [&](const Vector& sizes) { return Vector(gradient.cwiseProduct(sizes)); };
  // Near a saddle at zero the products underflow and tell nothing about the gradient, which is not zero.
  if (slope_in(natural.at(parameters, scale_of_risk(), largest_)).isZero(0)) return false;
  const double small = std::max(kStationaryGradient, kStepGradient * plan_.relative_tolerance);
  if (!(slope_in(natural.at(parameters, scale_of_risk(), largest_)).cwiseAbs().maxCoeff() <=
        small * scale_of_risk())) {
    return false;
  }
  const Matrix& hessian = integrator_.hessian_near(parameters);
  const Vector sizes = natural.at(parameters, scale_of_risk(), largest_), slope = slope_in(sizes);
  // The change of the gradient from rounding of the parameters alone, in units of the last bit. Near a saddle
  // at zero the gradient is small, but known.
  const double rounded = sizes.cwiseProduct(Vector(hessian.cwiseAbs() * parameters.cwiseAbs())).maxCoeff();
  const auto [curvatures, directions] =
      numerics::symmetric_eigenvalues(sizes.asDiagonal() * hessian * sizes.asDiagonal());
  const Vector slopes = directions.transpose() * slope;
  const double steepest = curvatures.cwiseAbs().maxCoeff(), flat = kFlat * steepest;
  Vector way = Vector::Zero(slopes.size());
  bool still = true, all_known = true, falls = false;
  for (Eigen::Index k = 0; k < slopes.size(); ++k) {
    const double steep = std::abs(slopes[k]);
    const bool known = curvatures[k] > flat;
    if (known) way[k] = slopes[k] / curvatures[k];
    const bool in_valley = std::abs(curvatures[k]) <= flat;
    // A step of the natural size at this slope makes no difference to the risk, as along x⁴, whose curvature
    // vanishes with its slope.
    const bool worthless = in_valley && steep <= kValueRounding * scale_of_risk();
    const bool noise = steep <= kGradientNoise * rounded || worthless;
    const bool near = known && std::abs(way[k]) <= plan_.stationary_tolerance;
    const bool maybe = in_valley && steep <= kFlatGradient * rounded;
    // The flow goes down from a saddle, however gentle the slope still is.
    falls = falls || (curvatures[k] < -kSaddle * steepest && steep > 0);
    still = still && (near || noise || maybe);
    flat_ = flat_ || (maybe && !noise);
    all_known = all_known && (known || noise) && !worthless;
  }
  // Along a flatter valley nothing tells how far the flow goes.
  if (all_known) to_go_ = norm_of(sizes.cwiseProduct(directions * way));
  if (!still || falls) flat_ = false;
  if (falls) return false;
  return still ||
         (slope.cwiseAbs().maxCoeff() <= small * rounded && is_noise(gradient_.cwiseProduct(sizes), slope));
}

}  // namespace largo::training
