// The parametrisations of in-context regression; regression_maps.hpp has their maps. A header without Eigen:
// GPU code reads it, too.
#pragma once

#include <cstdint>

namespace largo {

/// What is trained: (A, b) on the invariant set, (U, v), or K, Q, V and the output row.
enum class Parametrisation : std::uint8_t { invariant, merged, factored };

}  // namespace largo
