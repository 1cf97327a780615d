// Losses ℓ(o, y) of an output o with target y.
#pragma once

#include <memory>

namespace largo {

struct LossPoint {
  double value = 0;  ///< ℓ
  double slope = 0;  ///< ∂ℓ/∂o
};

/// Derive from this class to define your own loss. It must be thread-safe.
class Loss {
 public:
  virtual ~Loss() = default;
  virtual LossPoint at(double output, double target) const = 0;
};

using LossPtr = std::shared_ptr<const Loss>;

/// ½ (o - y)²
LossPtr squared_loss();

/// log(1 + e^{-y o}) for a label y = ±1; InputError for any other label. Takes any finite o without overflow.
/// Relative errors of value and slope: a few ulp, even if these are tiny.
LossPtr logistic_loss();

}  // namespace largo
