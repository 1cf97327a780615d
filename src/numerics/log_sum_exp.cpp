#include "numerics/log_sum_exp.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/simd_math.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/log_sum_exp.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h, as Highway requires.
#include "hwy/highway.h"
#include "numerics/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {

template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpDifference(D d, V score, V minus_reference) {
  const V x = hn::Add(score, minus_reference);
  const V rounded = hn::Sub(x, score);
  const V tail = hn::Add(hn::Sub(score, hn::Sub(x, rounded)), hn::Sub(minus_reference, rounded));
  return ExpSum(d, x, tail);
}

// weights[i] = exp(scores[i] - reference), the difference taken exactly. A difference that overflows is
// infinite, and its exponential 0.
void ExpDifferences(const double* scores, std::size_t count, double reference, double* weights) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto minus_reference = hn::Set(d, -reference);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(ExpDifference(d, hn::LoadU(d, scores + i), minus_reference), d, weights + i);
  }
  const hn::CappedTag<double, 1> one;
  for (; i < count; ++i) {
    const auto score = hn::Set(one, scores[i]);
    weights[i] = hn::GetLane(ExpDifference(one, score, hn::Set(one, -reference)));
  }
}

}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace largo::numerics {

HWY_EXPORT(ExpDifferences);

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kBlock = 256;

void exp_differences(std::span<const double> scores, double reference, std::span<double> weights) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(ExpDifferences)(scores.data(), scores.size(), reference, weights.data());
}

double exp_difference(double score, double reference) {
  double weight = 0;
  exp_differences({&score, 1}, reference, {&weight, 1});
  return weight;
}

// Our own logarithm, so that the bits do not depend on the C library.
double log_of(double x) {
  numerics::log({&x, 1}, {&x, 1});
  return x;
}

// log(1 + x) for x >= 0: the logarithm of the rounded sum, and a first-order correction of its rounding.
double log_one_plus(double x) {
  const double u = 1 + x;
  return log_of(u) + (x - (u - 1)) / u;
}

}  // namespace

double score_reference(double score) { return std::ceil(score / kScoreGrid) * kScoreGrid; }

void LogSumExp::raise_maximum(double score) {
  if (maximum_ > -kInfinity) {
    rest_.add(weight_at_maximum_.times(exp_difference(maximum_, reference_)));
  }
  const double reference = score_reference(score);
  if (reference != reference_) {
    if (rest_.high != 0) rest_ = rest_.times(exp_difference(reference_, reference));
    reference_ = reference;
  }
  maximum_ = score;
  weight_at_maximum_ = {};
}

void LogSumExp::add(double score, double weight) {
  check_nonnegative("LogSumExp", "weight", weight);
  if (weight == 0 || score == -kInfinity) return;
  if (!std::isfinite(score)) {
    nan_ = nan_ || std::isnan(score);
    positive_infinity_ = positive_infinity_ || score == kInfinity;
    return;
  }
  if (score > maximum_) raise_maximum(score);
  if (score == maximum_) {
    weight_at_maximum_.add(weight);
  } else {
    rest_.add(DoubleDouble{weight, 0}.times(exp_difference(score, reference_)));
  }
}

void LogSumExp::add(std::span<const double> scores) {
  std::array<double, kBlock> weights;
  while (!scores.empty()) {
    const auto block = scores.first(std::min(kBlock, scores.size()));
    scores = scores.subspan(block.size());
    double largest = -kInfinity;
    for (const double score : block) {
      nan_ = nan_ || std::isnan(score);
      positive_infinity_ = positive_infinity_ || score == kInfinity;
      if (score > largest && score < kInfinity) largest = score;
    }
    if (largest > maximum_) raise_maximum(largest);
    if (maximum_ == -kInfinity) continue;
    exp_differences(block, reference_, weights);
    DoubleDouble rest = rest_;  // in registers, not behind a pointer
    double at_maximum = 0;
    for (std::size_t i = 0; i < block.size(); ++i) {
      at_maximum += block[i] == maximum_ ? 1 : 0;
      rest.add(block[i] < maximum_ ? weights[i] : 0);
    }
    rest_ = rest;
    weight_at_maximum_.add(at_maximum);
  }
}

void LogSumExp::merge(const LogSumExp& other) {
  nan_ = nan_ || other.nan_;
  positive_infinity_ = positive_infinity_ || other.positive_infinity_;
  if (other.maximum_ == -kInfinity) return;
  const LogSumExp incoming = other;  // it may be *this
  if (incoming.maximum_ > maximum_) raise_maximum(incoming.maximum_);
  if (incoming.maximum_ == maximum_) {
    weight_at_maximum_.add(incoming.weight_at_maximum_);
  } else {
    rest_.add(incoming.weight_at_maximum_.times(exp_difference(incoming.maximum_, reference_)));
  }
  if (incoming.rest_.high != 0) {
    rest_.add(incoming.rest_.times(exp_difference(incoming.reference_, reference_)));
  }
}

double LogSumExp::value() const {
  if (nan_) return std::numeric_limits<double>::quiet_NaN();
  if (positive_infinity_) return kInfinity;
  if (maximum_ == -kInfinity) return -kInfinity;
  const double at_maximum = weight_at_maximum_.value();
  const double rest =
      rest_.high == 0 ? 0 : rest_.times(exp_difference(reference_, maximum_)).value() / at_maximum;
  return maximum_ + (log_of(at_maximum) + log_one_plus(rest));
}

double log_sum_exp(std::span<const double> scores) {
  LogSumExp sum;
  sum.add(scores);
  return sum.value();
}

Vector softmax(std::span<const double> scores) {
  double largest = -kInfinity;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i]) || scores[i] == kInfinity) {
      fail("softmax", fmt::format("scores[{}]", i), scores[i], "finite or -inf");
    }
    largest = std::max(largest, scores[i]);
  }
  if (largest == -kInfinity) fail("softmax", "scores must hold at least one finite number");
  Vector weights(static_cast<Eigen::Index>(scores.size()));
  exp_differences(scores, largest, {weights.data(), scores.size()});
  DoubleDouble sum;
  for (const double weight : weights) sum.add(weight);
  return weights / sum.value();
}

}  // namespace largo::numerics
#endif  // HWY_ONCE
