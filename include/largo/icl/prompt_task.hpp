// In-context learning in general. First a task is drawn; then tokens that are i.i.d. given the task, a query
// and its target. Attention sees the tokens and the query, and a loss compares its output with the target.
#pragma once

#include <memory>

#include "largo/measures/measure.hpp"

namespace largo {

// Losses ℓ(o, y) of an output o with target y.

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

struct PromptDraw {
  MeasurePtr tokens;  ///< the law of the tokens given the task
  Vector query;
  double target = 0;
};

/// Derive from this class to define your own task. It must be thread-safe: draws are made on many threads.
class PromptTask {
 public:
  virtual ~PromptTask() = default;
  virtual Eigen::Index token_dimension() const = 0;
  virtual Eigen::Index query_dimension() const = 0;
  /// Draws a task, its query and its target, as a function of the stream alone. Different streams are
  /// independent.
  virtual PromptDraw draw(const Stream& stream) const = 0;
};

using PromptTaskPtr = std::shared_ptr<const PromptTask>;

}  // namespace largo
