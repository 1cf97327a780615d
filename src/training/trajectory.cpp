#include "largo/training/trajectory.hpp"

#include <algorithm>
#include <utility>

#include "largo/numerics/check.hpp"

namespace largo {

void Trajectory::add(TrajectoryPoint point, Matrix derivatives) {
  check_size("Trajectory", "derivatives", derivatives.rows(), point.parameters.size());
  if (!points_.empty() && !(point.time > points_.back().time)) {
    fail("Trajectory", "time", point.time, "after that of the point before");
  }
  points_.push_back(std::move(point));
  derivatives_.push_back(std::move(derivatives));
}

void Trajectory::append_to(Trajectory& path, double from) const {
  for (std::size_t i = path.points_.empty() ? 0 : 1; i < points_.size(); ++i) {
    TrajectoryPoint point = points_[i];
    point.time += from;
    path.add(std::move(point), derivatives_[i]);
  }
}

Vector Trajectory::at(double time) const {
  if (points_.empty()) fail("Trajectory", "there are no points");
  if (!(time >= points_.front().time)) fail("Trajectory", "time", time, "at least that of the first point");
  if (time >= end()) return points_.back().parameters;
  const auto next = std::lower_bound(points_.begin(), points_.end(), time,
                                     [](const TrajectoryPoint& point, double t) { return point.time < t; });
  const Matrix& derivatives = derivatives_[static_cast<std::size_t>(next - points_.begin())];
  if (derivatives.cols() == 1 && next != points_.begin() && next->time > time) return (next - 1)->parameters;
  // Taylor's polynomial about the end of the step, by Horner's rule.
  const double h = time - next->time;
  Vector sum = Vector::Zero(derivatives.rows());
  for (Eigen::Index k = derivatives.cols() - 1; k >= 0; --k) {
    sum = derivatives.col(k) + h / static_cast<double>(k + 1) * sum;
  }
  return sum;
}

TrajectoryDistance largest_distance(
    const Trajectory& one, const Trajectory& two, double horizon,
    const std::function<double(const Vector& one, const Vector& two)>& distance) {
  std::vector<double> times;
  for (const Trajectory* path : {&one, &two}) {
    for (const TrajectoryPoint& point : path->points()) times.push_back(std::min(point.time, horizon));
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  TrajectoryDistance largest;
  for (const double t : times) {
    const double here = distance(one.at(t), two.at(t));
    if (here > largest.value) largest = {here, t};
  }
  return largest;
}

TrajectoryDistance largest_distance(const Trajectory& one, const Trajectory& two, double horizon) {
  return largest_distance(one, two, horizon, [](const Vector& x, const Vector& y) { return (x - y).norm(); });
}

}  // namespace largo
