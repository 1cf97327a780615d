// The slope of a curve in a log-log plot, by least squares.
#pragma once

#include <optional>
#include <span>

#include "largo/numerics/estimate.hpp"

namespace largo::concentration {

struct CurvePoint {
  double x = 0, y = 0;
  double error = 0;  ///< of y
};

/// d ln y / d ln x over all points with x and y positive and finite, all with the same weight (curves are not
/// straight, and weights would look at a part of them). `error` is what the errors of the points, taken as
/// independent, make of it. None for fewer than two different x.
std::optional<Estimate> log_slope(std::span<const CurvePoint> points);

}  // namespace largo::concentration
