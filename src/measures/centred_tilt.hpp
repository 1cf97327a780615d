// A tilt from sums over tokens around a centre, and how much cancels when its offset is subtracted.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "largo/measures/measure.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::measures {

struct CentredTilt {
  Tilt tilt;
  double cancellation = 1;  ///< second moment around the centre divided by the covariance left

  /// Turns tilt.covariance, which holds second moments around the centre, into the covariance; `offset` is
  /// the mean minus the centre.
  void take_off(const Vector& offset) {
    Matrix& covariance = tilt.covariance;
    double before = 0;
    for (Eigen::Index j = 0; j < offset.size(); ++j) {
      before += covariance(j, j);
      for (Eigen::Index i = 0; i < offset.size(); ++i) covariance(i, j) -= offset[i] * offset[j];
      covariance(j, j) = std::max(0.0, covariance(j, j));  // rounding may leave a variance below zero
    }
    const double after = covariance.trace();
    if (before > 0) cancellation = after > 0 ? before / after : std::numeric_limits<double>::infinity();
  }

  bool is_finite() const {
    return std::isfinite(tilt.log_partition) && tilt.mean.allFinite() && tilt.covariance.allFinite();
  }
};

}  // namespace largo::measures
