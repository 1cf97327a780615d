#include "largo/exact/score_law_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "exact/score_law_table.hpp"
#include "largo/runtime/check.hpp"
#include "measures/score_law_nodes.hpp"
#include "numerics/simd_math.hpp"

namespace largo {
namespace {

constexpr auto kFunction = "score_law_error";
constexpr double kStep = 7.0 / 32;         // in y; exact, so that the grid is exact
constexpr double kVanishes = 745;          // e^{-745} is zero
constexpr double kLargestExponent = 700;   // e^700 is finite, and beyond e^450 no node has a share in T
constexpr double kTailOfIntegral = 1e-18;  // relative, where the sum over y stops
constexpr double kTailOfBias = 1e-15;

using Array = Eigen::ArrayXd;
using exact::Centred;
using exact::Table;

// 1 - e^{-z} given e^{-z}, to a few ulp.
double complement(double z, double exponential) {
  double sum = 1.0 / 39916800;  // 1/11!
  for (const double coefficient : {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120,
                                   1.0 / 24, 1.0 / 6, 1.0 / 2, 1.0}) {
    sum = coefficient - z * sum;
  }
  return z < 0.125 ? z * sum : 1 - exponential;
}

// The integrands at one t.
class Integrand {
 public:
  Integrand(const Table& table, double log_partition, double length)
      : table_(table), log_tilted_tokens_(std::log(length) + log_partition), length_(length) {
    for (Array* scratch : {&z_, &exponential_, &complement_, &mass_}) scratch->resize(table.score.size());
  }

  /// -log φ_0
  double exponent(double y) {
    z_ = (table_.score + y).min(kLargestExponent);
    numerics::exp({z_.data(), size()}, {z_.data(), size()});
    exponential_ = -z_;
    numerics::exp({exponential_.data(), size()}, {exponential_.data(), size()});
    for (std::ptrdiff_t i = 0; i < z_.size(); ++i) complement_[i] = complement(z_[i], exponential_[i]);
    const double missing = (table_.expected * complement_).sum() / length_;
    if (missing < 0.5) return -std::log1p(-missing);
    return -std::log((table_.expected * exponential_).sum() / length_);
  }

  /// Both terms of the squared error, times t² as dt = t dy. Sets bias() and left_bound().
  double evaluate(double y) {
    const double decay = exponent(y);
    mass_ = z_ * exponential_;
    const double first = ((table_.square * mass_) * z_).sum();
    left_bound_ = (table_.square * z_.min(1.0) * z_.min(1.0)).sum();
    // Φ_1[x] vanishes at t = 0: while most of the tilted law is still there, sum what has gone instead.
    mass_ *= table_.expected;
    const double remains = std::exp(std::log(mass_.sum()) - log_tilted_tokens_ - y);
    if (remains > 0.5) mass_ = -(table_.expected * z_) * complement_;
    bias_.noalias() = table_.x.transpose() * mass_.matrix();
    const double survival = std::exp(-(length_ - 1) * decay);
    double second = 0;
    if (length_ > 1) second = (1 - 1 / length_) * bias_.squaredNorm() * std::exp(-(length_ - 2) * decay);
    bias_ *= survival;
    return first * survival + second;
  }

  const Vector& bias() const { return bias_; }
  /// Bounds the integral of the first term over all smaller t.
  double left_bound() const { return left_bound_; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(table_.score.size()); }

  const Table& table_;
  double log_tilted_tokens_;  // log(L E e^u)
  double length_;
  double left_bound_ = 0;
  Array z_;  // t e^u
  Array exponential_;
  Array complement_;
  Array mass_;
  Vector bias_;
};

struct Integral {
  double mse = 0;
  Vector bias;
  double peak = 0;  // y of the largest term
};

// The sum over y = k step, from the right, where φ_0^L or all the e^{-z} vanish, to the left, where the terms
// have become negligible for good.
Integral integrate(const Table& table, double log_partition, double length, double step) {
  constexpr double kFoldsAtLeft = 25;
  Integrand integrand(table, log_partition, length);
  // Here L (1 - φ_0) <= 1: tokens of every size still count, and to the left the terms fall like t² alone.
  const double all_present = -(std::log(length) + log_partition);
  auto last = static_cast<std::int64_t>(std::ceil((4 - table.score.minCoeff()) / step));
  if (length > 3) {
    auto below = static_cast<std::int64_t>(std::floor(all_present / step));
    while (last - below > 1) {
      const std::int64_t middle = below + (last - below) / 2;
      const double exponent = (length - 2) * integrand.exponent(static_cast<double>(middle) * step);
      (exponent < kVanishes ? below : last) = middle;
    }
  }
  Integral result;
  result.bias = Vector::Zero(table.x.cols());
  double largest = 0;
  for (std::int64_t k = last;; --k) {
    const double y = static_cast<double>(k) * step;
    const double term = integrand.evaluate(y);
    result.mse += step * term;
    result.bias += step * integrand.bias();
    if (term > largest) {
      largest = term;
      result.peak = y;
    }
    // The bias falls like t where the error falls like t², so it is tested as well.
    const bool small = term <= kTailOfIntegral * largest &&
                       integrand.left_bound() <= kTailOfIntegral * result.mse &&
                       integrand.bias().norm() <= kTailOfBias * std::sqrt(result.mse);
    if (small && (largest > 0 || y < all_present - kFoldsAtLeft)) break;
  }
  return result;
}

// The rounding error of v near the end of its range, in units of the length over which the density falls off.
double steepness(const ScoreLaw& law) {
  double steepest = 0;
  for (const ScoreComponent& component : law.components)
    steepest = std::max(steepest, std::abs(component.rate));
  return steepest;
}

}  // namespace

std::optional<std::string> beyond_limits(const ScoreLaw& law) {
  const auto refuse = [](const char* what, double value, double limit) {
    return fmt::format("{} is {:.6g}, must be at most {:.6g}", what, value, limit);
  };
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const ScoreComponent& component : law.components) {
    double left = component.scale;
    double right = component.scale;
    double limit = kLargestScoreDeviation;
    const bool bounded = component.shape == ScoreShape::bounded;
    if (component.shape == ScoreShape::gaussian) {
      right *= measures::tail_reach(component.scale);
      left *= std::sqrt(-2 * measures::kNegligibleLog);
    } else if (bounded) {
      limit *= std::sqrt(component.order);
    }
    if (!(component.scale <= limit)) {
      return refuse(bounded ? "half-width of the range of a score" : "standard deviation of a score",
                    component.scale, limit);
    }
    low = std::min(low, component.centre - left);
    high = std::max(high, component.centre + right);
  }
  if (!(high - low <= kLargestScoreRange)) {
    return refuse("range of the scores", high - low, kLargestScoreRange);
  }
  if (const double steepest = steepness(law); !(steepest <= kSteepestScore)) {
    return refuse("half-width of a score, in units of the length within which its density falls off,",
                  steepest, kSteepestScore);
  }
  return std::nullopt;
}

OutputError score_law_error(const ScoreLaw& law, const ConstMatrixRef& value_map, double length) {
  if (law.components.empty()) fail(kFunction, "number of components of the score law", "0", "at least 1");
  check_size(kFunction, "columns of the value map", value_map.cols(), law.components.front().mean.size());
  check_finite(kFunction, "value map", value_map);
  if (!(length >= 1 && (length <= kLargestLength || std::isinf(length)))) {
    fail(kFunction, "length", length, fmt::format("in [1, {}] or infinite", kLargestLength));
  }
  OutputError result;
  result.bias = Vector::Zero(value_map.rows());
  if (std::isinf(length)) return result;
  if (const auto beyond = beyond_limits(law)) fail(kFunction, *beyond);

  const Centred centred = exact::centre(law, value_map);
  const auto at_coarsening = [&](int coarsening) {
    const Table table = make_table(law, centred, length, coarsening);
    if (!table.square.isFinite().all()) {
      fail(kFunction, "the squared output overflows float64: scale down the value map");
    }
    return integrate(table, centred.log_partition, length, coarsening * kStep);
  };
  const Integral fine = at_coarsening(1);
  const Integral coarse = at_coarsening(2);
  result.mse = fine.mse;
  result.bias = centred.basis.size() > 0 ? Vector(centred.basis * fine.bias) : fine.bias;
  const double difference = result.mse > 0 ? std::abs(fine.mse - coarse.mse) / result.mse : 0;
  const double rounding =
      std::numeric_limits<double>::epsilon() * (32 + std::abs(fine.peak) + steepness(law));
  result.error =
      result.mse * (std::min(difference, 10 * difference * difference) + rounding + law.relative_error);
  // For subnormal values, the spacing of the subnormal numbers adds to the error.
  if (result.mse > 0) result.error += 1e3 * std::numeric_limits<double>::denorm_min();
  return result;
}

OutputError score_law_error(const Measure& law, const ConstMatrixRef& value_map,
                            const ConstVectorRef& direction, double length) {
  return score_law_error(law.score_law(direction), value_map, length);
}

}  // namespace largo
