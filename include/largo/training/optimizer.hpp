// The rules by which descent steps; stochastic_descent.hpp has their formulas. A header without Eigen: GPU
// code reads it, too.
#pragma once

#include <cstdint>

namespace largo {

enum class Optimizer : std::uint8_t { plain, momentum, adam };

}  // namespace largo
