// The risk from the sums of single_location_sums.cpp, which has the formula.
#include "largo/icl/single_location.hpp"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "icl/single_location_sums.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr double kLargestScore = 1e6;  // as for classes of tokens
constexpr double kSumRounding = 1e-15;

void check_scores(const char* function, const SingleLocation& problem, double size, double shift) {
  const double spread = size * std::max(1.0, problem.needle_spread);
  if (!(spread <= kLargestScore)) fail(function, "spread of the scores", spread, "at most 1e6");
  if (!(std::abs(shift) <= kLargestScore))
    fail(function, "mean score of the needle", shift, "between -1e6 and 1e6");
}

// The invariants of (u, v) that the risk depends on, beside those that the sums depend on.
struct Products {
  double h, c, w, g, square;  // m <v, k*>, <u, v>, <u, v*>, <v, v*>, |v|²
};

struct RiskParts {
  double value = 0, error = 0;
  double by_shift = 0, by_square = 0;  // the slopes through the sums
};

// The risk by the first formula below if the needle has less than half the weight, by the second otherwise,
// each without the cancellation of the other; the slopes in u, which both have, by the second.
//   2 R_L = τ² + γ² [1 - 2 g E q + |v|² E q²] + …,
//   2 R_L = τ² + γ² [(1 - g)² + 2 g (1 - g) E C_1 + g² E C_1² + (|v|² - g²) E q²] + …
RiskParts parts_of(const SingleLocation& problem, const Products& at, const icl::SumPoint& point) {
  const auto& [h, c, w, g, square] = at;
  const double variance = problem.needle_spread * problem.needle_spread;
  const std::array<double, icl::kAllSums> found = {variance * g * (1 - g),
                                                   variance * g * g / 2,
                                                   square / 2,
                                                   (variance * (square - g * g) + h * h) / 2,
                                                   h * c,
                                                   c * c / 2,
                                                   -h * w,
                                                   -c * w};
  std::array<double, icl::kAllSums> factor = found;
  RiskParts parts;
  parts.value = (problem.noise_variance + variance * (1 - g) * (1 - g)) / 2;
  if (point.needle.value < 0.5) {
    factor[0] = factor[1] = 0;
    factor[3] = (variance * square + h * h) / 2;
    parts.value = (problem.noise_variance + variance) / 2 - variance * g * point.needle.value;
    parts.error = variance * std::abs(g) * point.needle.error;
  }
  parts.error += kSumRounding * std::abs(parts.value);
  for (std::size_t i = 0; i < point.sums.size(); ++i) {
    const icl::SumValues& sum = point.sums[i];
    parts.value += factor[i] * sum.value.value;
    parts.error += std::abs(factor[i]) * (sum.value.error + kSumRounding * std::abs(sum.value.value));
    parts.by_shift += found[i] * sum.by_shift;
    parts.by_square += found[i] * sum.by_square;
  }
  return parts;
}

class GeneralRisk final : public Risk {
 public:
  GeneralRisk(const SingleLocation& problem, std::ptrdiff_t dimension)
      : problem_(problem), d_(dimension), table_(problem.L, problem.needle_spread, icl::kAllSums) {}

  Eigen::Index size() const override { return 2 * d_; }

  RiskPoint at(const ConstVectorRef& parameters) const override {
    constexpr auto kFunction = "single_location_risk";
    check_size(kFunction, "parameters", parameters.size(), size());
    check_finite(kFunction, "parameters", parameters);
    const Vector u = parameters.head(d_), v = parameters.tail(d_);
    const double m = problem_.signal, variance = problem_.needle_spread * problem_.needle_spread;
    check_scores(kFunction, problem_, u.norm(), m * u[0]);
    const icl::SumPoint sum = table_.at(m * u[0], u.squaredNorm());
    const Products all{m * v[0], u.dot(v), u[1], v[1], v.squaredNorm()};
    const auto& [h, c, w, g, square] = all;
    const RiskParts parts = parts_of(problem_, all, sum);
    using icl::Sum;
    const double by_c = h * sum(Sum::G1) + c * sum(Sum::G2) - w * sum(Sum::H2);
    const double by_h = h * sum(Sum::needle_squared) + c * sum(Sum::G1) - w * sum(Sum::H1);
    RiskPoint point{parts.value, parts.error, Vector(size())};
    auto of_u = point.gradient.head(d_);
    auto of_v = point.gradient.tail(d_);
    of_u = 2 * parts.by_square * u + by_c * v;
    of_u[0] += m * parts.by_shift;
    of_u[1] -= h * sum(Sum::H1) + c * sum(Sum::H2);
    of_v = (sum(Sum::crowd_squares) + variance * sum(Sum::needle_squared)) * v + by_c * u;
    of_v[0] += m * by_h;
    of_v[1] -= variance * sum.needle.value;
    return point;
  }

 private:
  SingleLocation problem_;
  std::ptrdiff_t d_;
  icl::SumTable table_;
};

class PlanarRisk final : public Risk {
 public:
  explicit PlanarRisk(const SingleLocation& problem)
      : problem_(problem), table_(problem.L, problem.needle_spread, icl::kPlanarSums) {}

  Eigen::Index size() const override { return 2; }

  RiskPoint at(const ConstVectorRef& parameters) const override {
    constexpr auto kFunction = "planar_single_location_risk";
    check_size(kFunction, "parameters", parameters.size(), size());
    check_finite(kFunction, "parameters", parameters);
    const double a = parameters[0], b = parameters[1], m = problem_.signal;
    check_scores(kFunction, problem_, std::abs(a), m * a);
    const double variance = problem_.needle_spread * problem_.needle_spread;
    const icl::SumPoint sum = table_.at(m * a, a * a);
    const RiskParts parts = parts_of(problem_, {0, 0, 0, b, b * b}, sum);
    RiskPoint point{parts.value, parts.error, Vector(2)};
    point.gradient << m * parts.by_shift + 2 * a * parts.by_square,
        b * (sum(icl::Sum::crowd_squares) + variance * sum(icl::Sum::needle_squared)) -
            variance * sum.needle.value;
    return point;
  }

 private:
  SingleLocation problem_;
  icl::SumTable table_;
};

}  // namespace

void check(const SingleLocation& problem) {
  constexpr auto kFunction = "single-location";
  const auto& [L, signal, spread, noise] = problem;
  if (!(L >= 2 && (L <= kLargestL || std::isinf(L)))) fail(kFunction, "L", L, "between 2 and 1e300, or inf");
  if (!(signal >= 0 && signal <= kLargestNeedleSignal)) fail(kFunction, "signal", signal, "between 0 and 50");
  if (!(spread >= 1e-3 && spread <= 1e3)) fail(kFunction, "needle_spread", spread, "between 0.001 and 1000");
  if (!(noise >= 0 && std::isfinite(noise)))
    fail(kFunction, "noise_variance", noise, "finite and not negative");
}

std::shared_ptr<const Risk> single_location_risk(const SingleLocation& problem, std::ptrdiff_t dimension) {
  check(problem);
  if (dimension < 2)
    fail("single_location_risk", "dimension", static_cast<double>(dimension), "at least 2, for k* and v*");
  return std::make_shared<GeneralRisk>(problem, dimension);
}

std::shared_ptr<const Risk> planar_single_location_risk(const SingleLocation& problem) {
  check(problem);
  return std::make_shared<PlanarRisk>(problem);
}

}  // namespace largo
