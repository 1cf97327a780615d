// What certified bounds need to know of a law: how far its tokens reach, and upper bounds on moments of order
// four and eight under a tilt. A tilt gives moments of order two; higher ones follow from values of Λ,
// because cosh y >= 1 + y²/2 + y⁴/24 and cosh y >= 1 + y²/2 + y⁸/8!.
#pragma once

#include <limits>
#include <optional>

#include "largo/measures/measure.hpp"

namespace largo::concentration {

/// An upper bound on the rounding error of ‖A (p − q)‖ for two means p and q of a law, which may cancel.
double rounding_of_shift(const ConstMatrixRef& A, const Vector& p, const Vector& q);

/// An upper bound on ‖A (z − centre)‖ over all tokens z of the law; none if it is not known to be bounded.
std::optional<double> reach(const Measure& law, const ConstMatrixRef& A, const Vector& centre);
std::optional<double> reach(const TokenLeaf& leaf, const ConstMatrixRef& A, const Vector& centre);

/// Upper bounds on E‖A (z − centre)‖^4 and ^8, z ~ ν_b.
struct TiltedMoments {
  double fourth = std::numeric_limits<double>::infinity();
  double eighth = std::numeric_limits<double>::infinity();
};
/// `tilt` is that of the law at b, with its covariance. Entries of A of the order of one: powers of tiny ones
/// vanish, and the moments are then infinite.
TiltedMoments tilted_moments(const Measure& law, const Vector& b, const Tilt& tilt, const ConstMatrixRef& A,
                             const Vector& centre);

}  // namespace largo::concentration
