// Where the log-partition of a law is finite: proved for largo's own laws, searched for others.
#pragma once

#include <limits>

#include "largo/measures/measure.hpp"

namespace largo::concentration {

/// Λ(a), which may be +∞. InputError if it is NaN or −∞.
double log_partition_at(const Measure& law, const Vector& a);

struct PartitionDomain {
  bool proved = false;  ///< Λ is finite everywhere, because the law is known to be sub-Gaussian
  double radius = std::numeric_limits<double>::infinity();  ///< of the nearest a with Λ(a) = ∞ that was found
  Vector where;                                             ///< that a; empty if there is none
  double searched = 0;                                      ///< the largest ‖a‖ that was tried
  bool is_infinite_somewhere() const { return where.size() > 0; }
};

/// Tries Λ along each column of `directions`, with both signs, at lengths of 2^-20 to 64 over the spread of
/// the law, and bisects (to 1e-9) where it becomes infinite. Since {Λ < ∞} is convex and contains 0, Λ is
/// infinite beyond, too. A direction that was not tried may be worse. Cost: 26 values of Λ for each direction
/// and sign.
PartitionDomain partition_domain(const Measure& law, const Matrix& directions);

/// Directions for a search: the images under U of the axes and of 16 random directions.
Matrix search_directions(const Matrix& U);

}  // namespace largo::concentration
