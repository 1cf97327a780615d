// What training needs to know of a model: a number to minimise, and its gradient.
#pragma once

#include <cstdint>

#include "largo/runtime/matrix.hpp"

namespace largo {

struct RiskPoint {
  double value = 0;
  double error = 0;  ///< error of the value: an estimate if it is numerical, the standard error if sampled
  Vector gradient;
};

/// A differentiable function of parameters in one vector. Thread-safe; the same parameters give bit-identical
/// results.
class Risk {
 public:
  virtual ~Risk() = default;
  virtual Eigen::Index size() const = 0;  ///< number of parameters
  /// Throws InputError if the risk is not finite.
  virtual RiskPoint at(const ConstVectorRef& parameters) const = 0;
};

/// A risk known through random batches. The means of their values and gradients are the risk and its
/// gradient.
class StochasticRisk {
 public:
  virtual ~StochasticRisk() = default;
  virtual Eigen::Index size() const = 0;
  /// Batch number `step` (from 0), a function of that number and the parameters. Different batches are
  /// independent.
  virtual RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const = 0;
};

}  // namespace largo
