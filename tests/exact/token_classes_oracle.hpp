// Statistics of softmax weights over tokens of several classes, from their integrals as they stand, in
// numbers of 64 bits of mantissa and on grids that are far finer than they need be. Nothing of the library is
// used: no peaks, no depths, no change of variable, no closed form but that of a given score.
#pragma once

#include <vector>

#include "largo/exact/token_classes.hpp"

namespace largo::oracle {

using Long = long double;

struct ClassReference {
  std::vector<Long> weights, squares;
  Long P2 = 0, P3 = 0, P2P2 = 0, log_partition = 0, entropy = 0;
};

/// Relative errors below 1e-15 for spreads up to 20, shifts up to 50 and counts up to 1e12; the entropy's
/// where it is above 1e-3. `refine` divides both steps. Cost: 1 ms to 1 s.
ClassReference class_reference(const std::vector<TokenClass>& classes, int refine = 1);

/// E max p over n tokens of one class, as n ∫∫ e^x f(x) e^{-t e^x} F(x, t)^{n-1} dx dt, with the density f of
/// a score and F(x, t) the integral of f e^{-t e^x'} up to x, by sums on a fine grid. Relative error 1e-9.
Long largest_weight_reference(Long n, Long s);

}  // namespace largo::oracle
