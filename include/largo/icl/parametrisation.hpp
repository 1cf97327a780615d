// The parametrisations of in-context regression; their maps are in regression_maps.hpp. This header does not
// use Eigen, so that GPU code can include it.
#pragma once

#include <cstdint>

namespace largo {

/// The parameters that are trained: (A, b) on the invariant set, (U, v), or K, Q, V and the output row.
enum class Parametrisation : std::uint8_t { invariant, merged, factored };

}  // namespace largo
