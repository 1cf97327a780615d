#include "concentration/log_slope.hpp"

#include <cmath>
#include <vector>

namespace largo::concentration {

std::optional<Estimate> log_slope(std::span<const CurvePoint> points) {
  struct Point {
    double x, y, error;
  };
  std::vector<Point> logs;
  double x = 0, y = 0;
  for (const CurvePoint& p : points) {
    if (!(p.x > 0 && p.y > 0 && std::isfinite(p.x) && std::isfinite(p.y))) continue;
    logs.push_back({std::log(p.x), std::log(p.y), p.error / p.y});
    x += logs.back().x;
    y += logs.back().y;
  }
  if (logs.size() < 2) return std::nullopt;
  x /= static_cast<double>(logs.size());
  y /= static_cast<double>(logs.size());
  double xx = 0, xy = 0, variance = 0;
  for (const Point& p : logs) {
    xx += (p.x - x) * (p.x - x);
    xy += (p.x - x) * (p.y - y);
    variance += std::pow((p.x - x) * p.error, 2);
  }
  if (!(xx > 0)) return std::nullopt;
  return Estimate{xy / xx, std::sqrt(variance) / xx};
}

}  // namespace largo::concentration
