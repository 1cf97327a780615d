// Losses ℓ(o, y) of one output o and its target y.
#pragma once

#include <memory>

namespace largo {

struct LossPoint {
  double value = 0;  ///< ℓ
  double slope = 0;  ///< ∂ℓ/∂o
};

/// Derive to define a loss of your own. Thread-safe.
class Loss {
 public:
  virtual ~Loss() = default;
  virtual LossPoint at(double output, double target) const = 0;
};

using LossPtr = std::shared_ptr<const Loss>;

/// ½ (o - y)²
LossPtr squared_loss();

/// log(1 + e^{-y o}) for a label y = ±1; InputError for another. Any finite o, without overflow; relative
/// errors of value and slope: a few ulp, also where they are tiny.
LossPtr logistic_loss();

}  // namespace largo
