#include "largo/measures/score_law.hpp"

#include <cmath>

#include "numerics/sphere_functions.hpp"

namespace largo {

double ScoreComponent::log_partition() const {
  switch (shape) {
    case ScoreShape::atom:
      return centre;
    case ScoreShape::gaussian:
      return centre + scale * scale / 2;
    case ScoreShape::bounded:
      break;
  }
  const double untilted = rate != 0 ? sphere_tilt(order, std::abs(rate)).value : 0;
  return centre + (sphere_tilt(order, std::abs(scale + rate)).value - untilted);
}

double ScoreComponent::tilted_mean() const {
  switch (shape) {
    case ScoreShape::atom:
      return 0;
    case ScoreShape::gaussian:
      return scale;
    case ScoreShape::bounded:
      break;
  }
  return std::copysign(sphere_tilt(order, std::abs(scale + rate)).derivative, scale + rate);
}

}  // namespace largo
