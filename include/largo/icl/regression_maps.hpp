// The maps of the parametrisations of in-context regression to the vector (U, v) of regression_problem.hpp.
#pragma once

#include <memory>

#include "largo/icl/parametrisation.hpp"
#include "largo/training/parameter_map.hpp"

namespace largo {

/// The map of a parametrisation to (U, v).
std::shared_ptr<const ParameterMap> map_of(Parametrisation parameters, Eigen::Index d);

/// K, Q, V (each (d+1) x (d+1), column by column), then the output row o: U = Kᵀ Q, v = Vᵀ o.
std::shared_ptr<const ParameterMap> factored_map(Eigen::Index d);

/// A (d x d, column by column), then b: U = [[A, 0], [0, 0]], v = (0, b). The set of such (U, v) is invariant
/// under gradient flow for every L, by the symmetry that changes the sign of all labels.
std::shared_ptr<const ParameterMap> invariant_map(Eigen::Index d);

}  // namespace largo
