// 1 - e^{-z} for many z at once, where e^{-z} is known.
#pragma once

#include <span>

namespace largo::exact {

/// complement[i] = 1 - e^{-z[i]}, given exponential[i] = e^{-z[i]}: below z = 1/8 from its series, elsewhere
/// by subtraction. Domain: z >= 0, all three of one size. Error: a few ulp. The same bits at every SIMD
/// level.
void complements(std::span<const double> z, std::span<const double> exponential,
                 std::span<double> complement);

}  // namespace largo::exact
