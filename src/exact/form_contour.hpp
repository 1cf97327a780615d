// The contour of integrals for the law of a quadratic form in Gaussians, in ζ = 1 - 2λu: a branch of a
// hyperbola that crosses the real axis at the saddle point, or to its right (query_law.hpp).
#pragma once

#include <algorithm>
#include <cmath>

namespace largo::exact {

/// The contour crosses the axis at least this far from the branch points, in units of the decay of e^-uq: any
/// closer, the products of forms, which have stronger singularities there, would cancel.
inline constexpr double kLeastCrossing = 4;

/// ζ - crossing = depth (1 - cosh w) + i height sinh w, with depth and height the A and B of query_law.hpp. A
/// rule of equal steps in w has an error of about e^{-2π 0.39/step}, since the slope of the ends, tan 22.5°,
/// is that of 0.39 radians.
struct FormContour {
  /// As wide as the integrand is around the crossing, where the second derivative of its logarithm is
  /// `curvature`, but well to the right of the branch point, which is at the distance `crossing`.
  FormContour(double crossing, double curvature)
      : height(std::min(1 / std::sqrt(curvature), kLargestShare * crossing)), depth(kSlope * height) {}

  double height;
  double depth;

 private:
  static constexpr double kLargestShare = 0.7;
  // Half way between the vertical, where e^{ζ q/2λ} does not fall, and 45°, up to which everything falls.
  static constexpr double kSlope = 0.41421356;
};

}  // namespace largo::exact
