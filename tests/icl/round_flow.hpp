// Training where every covariance is I and A = aI: flows of two numbers (of four in K, Q, V and the output
// row), by the classical Runge-Kutta method on risks in closed form. With g the slopes of R(aI, b),
//
//   a' = -g_a/d, b' = -g_b,      and for a = kq, b = mn:
//   k' = -q g_a/d, q' = -k g_a/d, m' = -n g_b, n' = -m g_b.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "icl/planar_risk.hpp"
#include "icl/regression_settings.hpp"
#include "largo/icl/training/training_plan.hpp"

namespace largo::test {

using RoundRisk = std::function<PlanarPoint<double>(double a, double b)>;

/// ½ d [c a²b² - 2ab + 1], c = 1 + (d + 1 + τ²)/L; at L = ∞ this is the risk of softmax attention, too.
inline RoundRisk round_linear_risk(int d, double noise, double L) {
  const double c = 1 + (d + 1 + noise) / L;
  return [d, c](double a, double b) -> PlanarPoint<double> {
    return {d * (c * a * a * b * b - 2 * a * b + 1) / 2, d * (c * a * b * b - b), d * (c * a * a * b - a)};
  };
}

inline RoundRisk round_softmax_risk(int d, double noise, double L) {
  if (std::isinf(L)) return round_linear_risk(d, noise, L);
  return [risk = planar_risk(d, noise, L)](double a, double b) { return risk.at(a, b); };
}

inline RoundRisk round_risk(AttentionKind attention, int d, double noise, double L) {
  return attention == AttentionKind::linear ? round_linear_risk(d, noise, L)
                                            : round_softmax_risk(d, noise, L);
}

/// k, q, m, n; or a, 1, b, 1 with q and n at rest.
struct RoundState {
  std::array<double, 4> x{};
  double a() const { return x[0] * x[1]; }
  double b() const { return x[2] * x[3]; }
};

enum class RoundKind : std::uint8_t { merged, factored };

/// With 100 steps per unit of time, errors are below 1e-8 where the slopes are of order one.
class RoundFlow {
 public:
  RoundFlow(RoundRisk risk, int d, RoundKind kind, const RoundState& start, double end)
      : risk_(std::move(risk)), d_(d), kind_(kind), path_{start} {
    for (double t = 0; t < end; t += kStep) path_.push_back(step(path_.back(), kStep));
  }

  RoundState at(double time) const {
    const auto i = std::min(static_cast<std::size_t>(time / kStep), path_.size() - 1);
    return step(path_[i], time - kStep * static_cast<double>(i));
  }
  const RoundRisk& risk() const { return risk_; }

 private:
  static constexpr double kStep = 0.01;

  std::array<double, 4> slope(const RoundState& s) const {
    const PlanarPoint<double> g = risk_(s.a(), s.b());
    const bool factored = kind_ == RoundKind::factored;
    return {-s.x[1] * g.slope_a / d_, factored ? -s.x[0] * g.slope_a / d_ : 0, -s.x[3] * g.slope_b,
            factored ? -s.x[2] * g.slope_b : 0};
  }

  RoundState step(const RoundState& s, double h) const {
    const auto ahead = [&](const std::array<double, 4>& k, double by) {
      RoundState moved = s;
      for (std::size_t i = 0; i < 4; ++i) moved.x[i] += by * k[i];
      return moved;
    };
    const auto k1 = slope(s), k2 = slope(ahead(k1, h / 2)), k3 = slope(ahead(k2, h / 2)),
               k4 = slope(ahead(k3, h));
    RoundState moved = s;
    for (std::size_t i = 0; i < 4; ++i) moved.x[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
    return moved;
  }

  RoundRisk risk_;
  double d_;
  RoundKind kind_;
  std::vector<RoundState> path_;
};

/// A plan whose flows are those above, in the layout of each parametrisation; the invariant set and (U, v)
/// need q = n = 1.
inline TrainingPlan round_plan(Parametrisation parameters, Eigen::Index d, double noise,
                               const RoundState& start) {
  TrainingPlan plan;
  plan.problem = round_problem(d, noise);
  plan.parameters = parameters;
  const Eigen::Index n = d + 1;
  RegressionParameters point{Matrix::Zero(n, n), Vector::Zero(n)};
  point.U.topLeftCorner(d, d).diagonal().setConstant(start.a());
  point.v[d] = start.b();
  switch (parameters) {
    case Parametrisation::invariant: plan.start = round_point(d, start.a(), start.b()); break;
    case Parametrisation::merged:
      plan.start.resize(n * n + n);
      plan.start << point.U.reshaped(), point.v;
      break;
    case Parametrisation::factored: {
      Matrix K = Matrix::Zero(n, n), Q = K, V = K;
      K.diagonal().head(d).setConstant(start.x[0]);
      Q.diagonal().head(d).setConstant(start.x[1]);
      V(d, d) = start.x[2];
      plan.start.resize(3 * n * n + n);
      plan.start << K.reshaped(), Q.reshaped(), V.reshaped(), start.x[3] * Vector::Unit(n, d);
      break;
    }
  }
  return plan;
}

}  // namespace largo::test
