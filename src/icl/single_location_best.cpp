#include <algorithm>
#include <array>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "exact/needle_sums.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/icl/single_location.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr double kFirst = 0.02, kRatio = 1.1;  // of the values of a that are searched
constexpr double kFarthest = 64;               // in units of max(1, m, √(2 ln L))
constexpr double kBestRounding = 1e-14;
constexpr int kBestDigits = 48;  // of a, in bits

void check_finite_length(const char* function, const SingleLocation& problem) {
  check(problem);
  if (std::isinf(problem.L))
    fail(function, "L", problem.L, "finite: every a and b along k* and v* has the same risk at L = inf");
}

// The slope in a of the risk at the best b.
class Profile {
 public:
  explicit Profile(const SingleLocation& problem)
      : problem_(problem), risk_(planar_single_location_risk(problem)) {}

  SingleLocationBest at(double a) const { return best_value_scale(problem_, a); }
  double slope(double a) const { return risk_->at(Eigen::Vector2d(a, at(a).b)).gradient[0]; }

  double zero_between(double low, double slope_low, double high, double slope_high) const {
    std::uintmax_t steps = 60;
    const auto [from, to] = boost::math::tools::toms748_solve(
        [&](double a) { return slope(a); }, low, high, slope_low, slope_high,
        boost::math::tools::eps_tolerance<double>(kBestDigits), steps);
    return 0.5 * (from + to);
  }

 private:
  SingleLocation problem_;
  std::shared_ptr<const Risk> risk_;
};

}  // namespace

// With b free, R is least at b = γ² E q / (γ² E q² + E C_2); 1 - b has a formula of its own, as b may be
// close to 1.
SingleLocationBest best_value_scale(const SingleLocation& problem, double a) {
  constexpr auto kFunction = "best_value_scale";
  check_finite_length(kFunction, problem);
  check_finite(kFunction, "a", a);
  const double s = std::abs(a), variance = problem.needle_spread * problem.needle_spread;
  const std::array<exact::NeedleProduct, 6> products = {
      {{1, {}}, {2, {}}, {0, {2}}, {0, {1}}, {0, {1, 1}}, {1, {1}}}};
  const std::vector<Estimate> E = exact::needle_moments(
      products, {1, problem.signal * a, problem.needle_spread * s}, {problem.L - 1, 0, s});
  const Estimate &q = E[0], &squares = E[2], &crowd = E[3], &crowd_squared = E[4], &both = E[5];
  const double below = variance * E[1].value + squares.value;
  SingleLocationBest best{.a = a, .b = variance * q.value / below, .excess = {}, .needle_weight = q};
  const double b = best.b, rest = (squares.value - variance * both.value) / below;
  // At its minimum in b, errors of b do not matter. Each formula has no cancellation where it is used.
  if (b * q.value < 0.5) {
    best.excess = {0.5 * variance * (1 - b * q.value),
                   variance * b * q.error + 0.5 * b * b * (variance * E[1].error + squares.error)};
  } else {
    best.excess.value =
        0.5 * (variance * (rest * rest + 2 * b * rest * crowd.value + b * b * crowd_squared.value) +
               b * b * squares.value);
    best.excess.error = variance * std::abs(b * rest) * crowd.error +
                        0.5 * b * b * (variance * crowd_squared.error + squares.error);
  }
  best.excess.error += kBestRounding * best.excess.value;
  return best;
}

SingleLocationBest best_single_location(const SingleLocation& problem) {
  check_finite_length("best_single_location", problem);
  if (problem.needle_spread == 1) {
    SingleLocationBest best = best_value_scale(problem, problem.signal);
    best.b = 1;
    return best;
  }
  const Profile profile(problem);
  SingleLocationBest best = profile.at(0);
  const auto consider = [&](double a) {
    const SingleLocationBest here = profile.at(a);
    if (here.excess.value < best.excess.value) best = here;
  };
  const double unit = std::max({1.0, problem.signal, std::sqrt(2 * std::log(problem.L))});
  double a = kFirst, slope = profile.slope(a);
  if (slope > 0) consider(profile.zero_between(0, profile.slope(0), a, slope));
  while (a < kFarthest * unit) {
    const double next = kRatio * a, then = profile.slope(next);
    if (slope <= 0 && then > 0) consider(profile.zero_between(a, slope, next, then));
    // Far beyond the best a nothing comes any more.
    if (next > 4 * unit && then > 0) break;
    a = next;
    slope = then;
  }
  if (slope < 0 && a >= kFarthest * unit) consider(a);
  return best;
}

}  // namespace largo
