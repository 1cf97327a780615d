#include "largo/training/trajectory.hpp"

#include <algorithm>
#include <utility>

#include "largo/runtime/check.hpp"

namespace largo {
namespace {

// The polynomial through the columns, which are equally spaced in [0, 1], by the barycentric formula: the
// weights are binomial coefficients of alternating sign. With few columns there is no Runge's phenomenon.
Vector between(const Matrix& values, double where) {
  const Eigen::Index degree = values.cols() - 1;
  Vector sum = Vector::Zero(values.rows());
  double weight = 1, total = 0;
  for (Eigen::Index i = 0; i <= degree; ++i) {
    const double away = where * static_cast<double>(degree) - static_cast<double>(i);
    if (away == 0) return values.col(i);
    sum += weight / away * values.col(i);
    total += weight / away;
    weight *= -static_cast<double>(degree - i) / static_cast<double>(i + 1);
  }
  return sum / total;
}

}  // namespace

void Trajectory::add(TrajectoryPoint point, Matrix values) {
  check_size("Trajectory", "values", values.rows(), point.parameters.size());
  if (!points_.empty() && !(point.time > points_.back().time)) {
    fail("Trajectory", "time", point.time, "after that of the point before");
  }
  points_.push_back(std::move(point));
  values_.push_back(std::move(values));
}

void Trajectory::append_to(Trajectory& path, double from) const {
  for (std::size_t i = path.points_.empty() ? 0 : 1; i < points_.size(); ++i) {
    TrajectoryPoint point = points_[i];
    point.time += from;
    path.add(std::move(point), values_[i]);
  }
}

Vector Trajectory::at(double time) const {
  if (points_.empty()) fail("Trajectory", "there are no points");
  if (!(time >= points_.front().time)) fail("Trajectory", "time", time, "at least that of the first point");
  if (time >= end()) return points_.back().parameters;
  const auto next = std::lower_bound(points_.begin(), points_.end(), time,
                                     [](const TrajectoryPoint& point, double t) { return point.time < t; });
  const Matrix& values = values_[static_cast<std::size_t>(next - points_.begin())];
  if (next->time == time || next == points_.begin()) return next->parameters;
  const TrajectoryPoint& before = *(next - 1);
  if (values.cols() == 1) return before.parameters;
  return between(values, (time - before.time) / (next->time - before.time));
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
