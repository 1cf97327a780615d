// A risk whose descent can be followed by hand.
#pragma once

#include <cmath>
#include <limits>

#include "largo/training/stochastic_descent.hpp"

namespace largo::test {

// ½ Σ h_i (θ_i - t_i)², where each batch moves the t_i a little; from step `fails_at` on it fails.
class Quadratic final : public StochasticRisk {
 public:
  enum class Failure : std::uint8_t { none, value, gradient, refusal, stop };
  explicit Quadratic(Eigen::Index size, Failure failure = Failure::none, std::int64_t fails_at = 0)
      : size_(size), failure_(failure), fails_at_(fails_at) {}

  Eigen::Index size() const override { return size_; }
  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override {
    RiskPoint point{0, 0, Vector(size_)};
    for (Eigen::Index i = 0; i < size_; ++i) {
      const double difference = parameters[i] - target(i, step);
      point.gradient[i] = curvature(i) * difference;
      point.value += curvature(i) * difference * difference / 2;
    }
    if (step < fails_at_) return point;
    if (failure_ == Failure::value) point.value = std::nan("");
    if (failure_ == Failure::gradient) point.gradient[size_ - 1] = std::numeric_limits<double>::infinity();
    if (failure_ == Failure::refusal) fail("Quadratic", "something overflows");
    if (failure_ == Failure::stop) throw Stopped();
    return point;
  }
  static double curvature(Eigen::Index i) { return 1 + static_cast<double>(i); }
  static double target(Eigen::Index i, std::int64_t step) {
    return 1 + 0.1 * static_cast<double>(i) + 0.03 * static_cast<double>((step * 7 + i) % 5 - 2);
  }

 private:
  Eigen::Index size_;
  Failure failure_;
  std::int64_t fails_at_;
};

inline DescentState start(Eigen::Index size) {
  DescentState state;
  state.parameters = Vector::LinSpaced(size, -1, 2);
  return state;
}

inline DescentOptions options_of(Optimizer optimizer, double size, std::int64_t steps) {
  DescentOptions options;
  options.optimizer = optimizer;
  options.step_size = constant_steps(size);
  options.steps = steps;
  return options;
}

}  // namespace largo::test
