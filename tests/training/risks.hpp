// Risks whose flows are known in closed form.
#pragma once

#include <cmath>
#include <functional>
#include <utility>

#include "largo/training/risk.hpp"

namespace largo::test {

/// A risk from a function that gives value and gradient.
class FunctionRisk final : public Risk {
 public:
  FunctionRisk(Eigen::Index size, std::function<RiskPoint(const Vector&)> function)
      : size_(size), function_(std::move(function)) {}
  Eigen::Index size() const override { return size_; }
  RiskPoint at(const ConstVectorRef& parameters) const override { return function_(parameters); }

 private:
  Eigen::Index size_;
  std::function<RiskPoint(const Vector&)> function_;
};

/// ½ Σ rate_j θ_j², with the flow θ_j(t) = e^{-rate_j t} θ_j(0).
inline FunctionRisk quadratic_risk(const Vector& rates) {
  return {rates.size(), [rates](const Vector& x) {
            const Vector slope = rates.cwiseProduct(x);
            return RiskPoint{0.5 * slope.dot(x), 0, slope};
          }};
}

/// ½ (ab - 1)², whose flow keeps a² - b².
inline FunctionRisk product_risk() {
  return {2, [](const Vector& x) {
            const double miss = x[0] * x[1] - 1;
            return RiskPoint{0.5 * miss * miss, 0, Vector{{miss * x[1], miss * x[0]}}};
          }};
}

/// scale |θ|⁴/4. For scale = 1, θ(t) = θ(0)/√(1 + 2|θ(0)|² t); for -1, θ is infinite at t = 1/(2|θ(0)|²).
inline FunctionRisk quartic_risk(Eigen::Index size, double scale) {
  return {size, [scale](const Vector& x) {
            const double square = x.squaredNorm();
            return RiskPoint{scale * square * square / 4, 0, scale * square * x};
          }};
}

}  // namespace largo::test
