// The slope of a curve in a log-log plot, by least squares.
#pragma once

#include <optional>
#include <span>

#include "largo/numerics/estimate.hpp"

namespace largo::concentration {

struct CurvePoint {
  double x = 0, y = 0;
  double error = 0;  ///< error of y
};

/// d ln y / d ln x over all points with positive and finite x and y, all with the same weight (curves are not
/// straight, and weights would favour a part of them). `error` follows from the errors of the points, taken
/// as independent. None for fewer than two different x.
std::optional<Estimate> log_slope(std::span<const CurvePoint> points);

}  // namespace largo::concentration
