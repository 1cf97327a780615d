#include "largo/concentration/log_slope.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace largo {

std::optional<Estimate> log_slope(std::span<const CurvePoint> points) {
  struct Point {
    double x, y, weight;
  };
  std::vector<Point> logs;
  for (const CurvePoint& p : points) {
    if (!(p.x > 0 && p.y > 0 && std::isfinite(p.x) && std::isfinite(p.y))) continue;
    const double relative = p.error / p.y;
    logs.push_back({std::log(p.x), std::log(p.y), relative > 0 ? 1 / (relative * relative) : 0});
  }
  const bool weighted = std::all_of(logs.begin(), logs.end(), [](const Point& p) { return p.weight > 0; });
  double weights = 0, x = 0, y = 0;
  for (Point& p : logs) {
    if (!weighted) p.weight = 1;
    weights += p.weight;
    x += p.weight * p.x;
    y += p.weight * p.y;
  }
  if (logs.size() < 2) return std::nullopt;
  x /= weights;
  y /= weights;
  double xx = 0, xy = 0;
  for (const Point& p : logs) {
    xx += p.weight * (p.x - x) * (p.x - x);
    xy += p.weight * (p.x - x) * (p.y - y);
  }
  if (!(xx > 0)) return std::nullopt;
  const double slope = xy / xx;
  if (weighted) return Estimate{slope, 1 / std::sqrt(xx)};
  if (logs.size() == 2) return Estimate{slope, 0};
  double residual = 0;
  for (const Point& p : logs) residual += std::pow(p.y - y - slope * (p.x - x), 2);
  return Estimate{slope, std::sqrt(residual / static_cast<double>(logs.size() - 2) / xx)};
}

}  // namespace largo
