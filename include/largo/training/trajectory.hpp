// A path of parameters in time, defined at all times, and the distance between two paths.
#pragma once

#include <functional>
#include <vector>

#include "largo/runtime/matrix.hpp"

namespace largo {

struct TrajectoryPoint {
  double time = 0;
  Vector parameters;
  double risk = 0;
  double gradient_norm = 0;
};

/// The result of an integrator: its steps, and the polynomial on each step.
class Trajectory {
 public:
  /// Adds a point and the path that leads to it. The columns of `values` are the parameters at equal
  /// distances in time on the step that leads to the point: the first column at the beginning of the step,
  /// the last at the point. The path between them is the polynomial through them. (Derivatives are not used:
  /// on very short steps they leave the range of doubles.) A single column, the parameters, makes the path
  /// constant since the point before. Points come in order of time.
  void add(TrajectoryPoint point, Matrix values);

  /// Appends this trajectory to `path`, with its times shifted by `from`. Leaves out its first point if
  /// `path` already has points.
  void append_to(Trajectory& path, double from) const;

  const std::vector<TrajectoryPoint>& points() const { return points_; }
  const std::vector<Matrix>& values() const { return values_; }  ///< the `values` given to add()
  double end() const { return points_.back().time; }

  /// The parameters at any time; after the end, those at the end. Uses the integrator's own interpolation, so
  /// it is as accurate as the steps. InputError: t < 0 or NaN, or no points.
  Vector at(double time) const;

 private:
  std::vector<TrajectoryPoint> points_;
  std::vector<Matrix> values_;
};

struct TrajectoryDistance {
  double value = 0;  ///< the supremum
  double time = 0;   ///< the time at which it is attained
};

/// The supremum over t <= horizon of distance(θ_1(t), θ_2(t)). It is searched at the steps of both paths and
/// at the horizon, so the result may be too low, but only a little: an integrator takes short steps where
/// paths turn. A path that has ended stays at its last point.
TrajectoryDistance largest_distance(
    const Trajectory& one, const Trajectory& two, double horizon,
    const std::function<double(const Vector& one, const Vector& two)>& distance);

/// The same with the Euclidean norm of the difference.
TrajectoryDistance largest_distance(const Trajectory& one, const Trajectory& two, double horizon);

}  // namespace largo
