// The sub-Gaussian constant of a law that is known by its log-partition alone.
#pragma once

#include "largo/measures/measure.hpp"

namespace largo {

/// sup_a √(2(Λ(a) − <a, mean>))/‖a‖ as far as a search finds it, from below. Axes, diagonals, principal axes
/// and 64 random directions, at radii of 1/16 to 64 over the scale; the best eight are then followed uphill
/// in direction and radius. A needle between the directions looked at may be missed. `scale`: a length of the
/// law. Cost: some 22 d² + 3000 log-partitions and up to 500 tilts (means).
double search_sub_gaussian_constant(const Measure& law, double scale);

}  // namespace largo
