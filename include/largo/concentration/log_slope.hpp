// The slope of a curve in a log-log plot, by least squares.
#pragma once

#include <optional>
#include <span>

#include "largo/numerics/estimate.hpp"

namespace largo {

struct CurvePoint {
  double x = 0, y = 0;
  double error = 0;  ///< standard error of y; zero: exact
};

/// d ln y / d ln x over all points with x and y positive and finite, weighted by the relative errors if all
/// have one, else equally. `error` is the standard error from the errors of the points, or without them from
/// the distances to the line. None for fewer than two different x.
std::optional<Estimate> log_slope(std::span<const CurvePoint> points);

}  // namespace largo
