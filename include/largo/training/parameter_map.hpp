// The same risk in other parameters: R(map(θ)). Its gradient is the transposed Jacobian of the map times the
// gradient of R. Gradient flow and descent in θ differ from those in map(θ).
#pragma once

#include <memory>

#include "largo/training/risk.hpp"

namespace largo {

class ParameterMap {
 public:
  virtual ~ParameterMap() = default;
  virtual Eigen::Index size() const = 0;         ///< number of entries of θ
  virtual Eigen::Index mapped_size() const = 0;  ///< number of entries of map(θ)
  virtual Vector map(const ConstVectorRef& parameters) const = 0;
  /// The transposed Jacobian at θ times a gradient in map(θ).
  virtual Vector pull_back(const ConstVectorRef& parameters, const ConstVectorRef& gradient) const = 0;
};

/// The map θ -> outer(inner(θ)).
std::shared_ptr<const ParameterMap> composed(std::shared_ptr<const ParameterMap> inner,
                                             std::shared_ptr<const ParameterMap> outer);

/// The map that leaves θ as it is.
std::shared_ptr<const ParameterMap> identity_map(Eigen::Index size);

/// The risk as a function of θ. InputError if the sizes do not match.
std::shared_ptr<const Risk> in_parameters(std::shared_ptr<const Risk> risk,
                                          std::shared_ptr<const ParameterMap> map);
std::shared_ptr<const StochasticRisk> in_parameters(std::shared_ptr<const StochasticRisk> risk,
                                                    std::shared_ptr<const ParameterMap> map);

}  // namespace largo
