// A path of parameters in time, known at every time in between, and how far two of them are apart.
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

/// What an integrator leaves behind: its steps, and the polynomial by which it passes each.
class Trajectory {
 public:
  /// Columns of `values` are the parameters at equal distances in time on the step that leads to the point,
  /// the first at its beginning, the last at the point; the path between them is their polynomial. (Not its
  /// derivatives: where steps are very short these leave the range of doubles.) A single column, the
  /// parameters, makes the path constant since the point before. Points come in order of time.
  void add(TrajectoryPoint point, Matrix values);

  /// Continues `path` by this one, its times shifted by `from`; the first point is left out where `path` has
  /// one.
  void append_to(Trajectory& path, double from) const;

  const std::vector<TrajectoryPoint>& points() const { return points_; }
  const std::vector<Matrix>& values() const { return values_; }  ///< as add() was given them
  double end() const { return points_.back().time; }

  /// Parameters at any time; beyond the end those of the end. The integrator's own interpolation: as accurate
  /// as its steps. InputError: t < 0 or NaN, or no points.
  Vector at(double time) const;

 private:
  std::vector<TrajectoryPoint> points_;
  std::vector<Matrix> values_;
};

struct TrajectoryDistance {
  double value = 0;  ///< the supremum
  double time = 0;   ///< where it is
};

/// sup over t <= horizon of distance(θ_1(t), θ_2(t)), looked for at the steps of both (and at the horizon),
/// and so a little below it at most: steps of an integrator are short where paths turn. A path that has ended
/// stays where it is.
TrajectoryDistance largest_distance(
    const Trajectory& one, const Trajectory& two, double horizon,
    const std::function<double(const Vector& one, const Vector& two)>& distance);

/// With the Euclidean norm of the difference.
TrajectoryDistance largest_distance(const Trajectory& one, const Trajectory& two, double horizon);

}  // namespace largo
