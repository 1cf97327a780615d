// The update rules of descent; their formulas are in stochastic_descent.hpp. This header does not use Eigen,
// so that GPU code can include it.
#pragma once

#include <cstdint>

namespace largo {

enum class Optimizer : std::uint8_t { plain, momentum, adam };

}  // namespace largo
