#include "largo/concentration/error_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "largo/runtime/check.hpp"

namespace largo {
namespace {

// A fitted bound touches points: rounding must not put them above it.
constexpr double kRounding = 1e-9;

bool counts(const BoundPoint& p) { return p.L >= 2 && std::isfinite(p.L) && p.sigma > 0; }

// ln of the bound without its terms ln c1 - c2 x.
double log_shape(const BoundShape& shape, double sigma, double L) {
  return shape.sigma_power * std::log(sigma) + shape.log_power * std::log(std::log(L));
}

double log_bound(const BoundShape& shape, const BoundConstants& c, double sigma, double L) {
  return std::log(c.c1) + log_shape(shape, sigma, L) - c.c2 * std::log(L) / (sigma * sigma);
}

}  // namespace

double bound_value(const BoundShape& shape, const BoundConstants& constants, double sigma, double L) {
  check_positive("bound_value", "sigma", sigma);
  if (!(L >= 2)) fail("bound_value", "L", L, "at least 2: the bound is zero at one token");
  return std::exp(log_bound(shape, constants, sigma, L));
}

std::optional<BoundConstants> fit_bound(const BoundShape& shape, std::span<const BoundPoint> points,
                                        double largest_c2) {
  struct Point {
    double x, y;
  };
  std::vector<Point> all;
  double mean = 0;
  for (const BoundPoint& p : points) {
    if (!counts(p) || !(p.error > 0)) continue;
    const double x = std::log(p.L) / (p.sigma * p.sigma);
    all.push_back({x, std::log(p.error) - log_shape(shape, p.sigma, p.L)});
    mean += x;
  }
  if (all.empty()) return std::nullopt;
  mean /= static_cast<double>(all.size());
  std::sort(all.begin(), all.end(),
            [](const Point& a, const Point& b) { return a.x < b.x || (a.x == b.x && a.y > b.y); });
  if (!(all.front().x < all.back().x)) return std::nullopt;
  std::vector<Point> hull;
  for (const Point& p : all) {
    if (!hull.empty() && hull.back().x == p.x) continue;  // a higher point at this x is there already
    const auto below = [&] {
      const Point &a = hull[hull.size() - 2], &b = hull.back();
      return (b.y - a.y) * (p.x - a.x) <= (p.y - a.y) * (b.x - a.x);
    };
    while (hull.size() >= 2 && below()) hull.pop_back();
    hull.push_back(p);
  }
  std::size_t i = 0;
  while (i + 2 < hull.size() && hull[i + 1].x < mean) ++i;
  const double slope = (hull[i + 1].y - hull[i].y) / (hull[i + 1].x - hull[i].x);
  // The mean distance is convex in c2, so the best allowed value is the nearest one.
  const double c2 = std::clamp(-slope, 0.0, largest_c2);
  double log_c1 = -std::numeric_limits<double>::infinity();
  for (const Point& p : hull) log_c1 = std::max(log_c1, p.y + c2 * p.x);
  const double c1 = std::exp(log_c1);
  if (!(c1 > 0 && std::isfinite(c1))) return std::nullopt;  // beyond the range of double
  return BoundConstants{c1, c2};
}

BoundVerdict check_bound(const BoundShape& shape, const BoundConstants& constants,
                         std::span<const BoundPoint> points) {
  check_positive("check_bound", "c1", constants.c1);
  check_nonnegative("check_bound", "c2", constants.c2);
  BoundVerdict verdict;
  for (const BoundPoint& p : points) {
    if (!counts(p)) continue;
    ++verdict.points;
    if (!(p.error > 0)) continue;
    const double log_limit = log_bound(shape, constants, p.sigma, p.L);
    const double ratio =
        std::min(std::exp(std::log(p.error) - log_limit), std::numeric_limits<double>::max());
    if (ratio > verdict.worst_ratio) {
      verdict.worst_ratio = ratio;
      verdict.worst = p;
    }
    const double least = p.error - p.uncertainty;
    if (least > 0 && std::log(least) - log_limit > kRounding) verdict.holds = false;
  }
  return verdict;
}

}  // namespace largo
