// Losses ℓ(o, y) of an output o with target y, both in R^m.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "largo/runtime/matrix.hpp"

namespace largo {

struct LossPoint {
  double value = 0;  ///< ℓ
  double slope = 0;  ///< ∂ℓ/∂o
};

/// The losses of n outputs.
struct LossRows {
  Vector values;     ///< ℓ, one for each row
  RowMatrix slopes;  ///< ∂ℓ/∂o, n x m
};

/// Derive from this class to define your own loss. A loss that is a sum over the coordinates of the output
/// provides at(); any other provides rows(). It must be thread-safe.
class Loss {
 public:
  virtual ~Loss() = default;
  /// The loss of one coordinate.
  virtual LossPoint at(double output, double target) const;
  /// The losses of many outputs, n x m, at once; a row of the result depends on its own rows alone. The
  /// default is the sum of at() over the coordinates.
  virtual LossRows rows(const ConstRowsRef& outputs, const ConstRowsRef& targets) const;
  /// c if the loss is c ‖o - y‖². Averages over Gaussian prompts are then known without sampling.
  virtual std::optional<double> quadratic_factor() const { return std::nullopt; }
  /// False if the slope jumps. Gradient flow needs a smooth loss.
  virtual bool is_smooth() const { return true; }
};

using LossPtr = std::shared_ptr<const Loss>;

/// ½ ‖o - y‖²
LossPtr squared_loss();

/// Huber's loss, summed over coordinates: with r = o - y, r²/2 where |r| <= δ, else δ(|r| - δ/2). InputError
/// unless δ is positive and finite.
LossPtr huber_loss(double delta);

/// Σ |o_k - y_k|. Its slope jumps where o_k = y_k, and is zero there: it is for descents, not for flows.
LossPtr absolute_loss();

/// Σ log(1 + e^{-y_k o_k}) for labels y_k = ±1; InputError for any other label. Takes any finite o without
/// overflow. Relative errors of value and slope: a few ulp, even if these are tiny.
LossPtr logistic_loss();

/// A loss by its name: squared, huber:DELTA, absolute, logistic. `option` is named in messages.
LossPtr named_loss(std::string_view text, std::string_view option = "loss");

}  // namespace largo
