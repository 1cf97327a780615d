// What training knows of the thing it trains: a number to bring down, and its slope.
#pragma once

#include <cstdint>

#include "largo/runtime/matrix.hpp"

namespace largo {

struct RiskPoint {
  double value = 0;
  double error = 0;  ///< of the value: estimate of a numerical error, or standard error where it is sampled
  Vector gradient;
};

/// A differentiable function of parameters in one vector. Thread-safe; the same parameters give the same
/// bits.
class Risk {
 public:
  virtual ~Risk() = default;
  virtual Eigen::Index size() const = 0;  ///< number of parameters
  /// Throws InputError where the risk is not finite.
  virtual RiskPoint at(const ConstVectorRef& parameters) const = 0;
};

/// A risk seen through batches: their values and gradients have the risk's and its gradient as means.
class StochasticRisk {
 public:
  virtual ~StochasticRisk() = default;
  virtual Eigen::Index size() const = 0;
  /// Batch number `step` (from 0): a function of it and the parameters; different batches are independent.
  virtual RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const = 0;
};

}  // namespace largo
