#include "exact/softmax_panel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "exact/softmax_panel.cpp"
#include "hwy/foreach_target.h"  // must precede highway.h
#include "hwy/highway.h"

#include "largo/numerics/simd_level.hpp"
#include "numerics/simd_math-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace largo::HWY_NAMESPACE {
namespace {

using namespace exact;

// e^{r(x)} Σ c_k T_k(x) for all fields, by Clenshaw's recurrence. The same bits at every level.
void EvaluatePanel(const double* HWY_RESTRICT coefficients, double x, double* HWY_RESTRICT fields) {
  const hn::CappedTag<double, 4> d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kFields = SoftmaxPanel::kFields;
  const auto at = hn::Set(d, x);
  const auto twice = hn::Set(d, 2 * x);
  for (std::size_t field = 0; field < kFields; field += lanes) {
    const double* HWY_RESTRICT row = coefficients + field;
    const auto r = hn::Add(
        hn::Load(d, row),
        hn::Mul(at, hn::Add(hn::Load(d, row + kFields), hn::Mul(at, hn::Load(d, row + 2 * kFields)))));
    row += 3 * kFields;
    auto next = hn::Zero(d);
    auto sum = hn::Load(d, row + (SoftmaxPanel::kNodes - 1) * kFields);
    for (std::size_t k = SoftmaxPanel::kNodes - 2; k > 0; --k) {
      const auto before = sum;
      // The part that does not wait for the last step comes first.
      sum = hn::Add(hn::Mul(twice, sum), hn::Sub(hn::Load(d, row + k * kFields), next));
      next = before;
    }
    sum = hn::Add(hn::Mul(at, sum), hn::Sub(hn::Load(d, row), next));
    hn::Store(hn::Mul(Exp(d, r), sum), d, fields + field);
  }
}

}  // namespace
}  // namespace largo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "largo/exact/softmax_moments.hpp"

namespace largo::exact {
namespace {
HWY_EXPORT(EvaluatePanel);

constexpr std::size_t kNodes = SoftmaxPanel::kNodes;
constexpr std::size_t kFields = SoftmaxPanel::kFields;
using Fields = SoftmaxPanel::Fields;

enum : std::size_t {
  kP2,
  kP3,
  kP2P2,
  kMse,
  kBB,
  kD,
  kB,
  kMean,
  kSlopeP2,
  kSlopeP3,
  kSlopeP2P2,
  kBP2,
  kSquareAndF
};

constexpr double kTolerance = 1e-10;
// Factor from the last coefficients to an estimate of the error.
constexpr double kSafety = 3;
// E[P_3] and E[P_2²] ~ L^-2 are not followed to relative accuracy below this: they may underflow nearby.
constexpr double kTiny = 1e-280;

// The field whose size measures the errors of a field: the field itself if it keeps its sign.
constexpr std::size_t reference(std::size_t field) {
  switch (field) {
    case kSlopeP2: return kP2;
    case kSlopeP3:
    case kBP2: return kP3;
    case kSlopeP2P2: return kP2P2;
    default: return field;
  }
}

// The other fields are at worst of order 1/L and cannot underflow.
constexpr double least_size(std::size_t field) {
  return reference(field) == kP3 || reference(field) == kP2P2 ? kTiny : std::numeric_limits<double>::min();
}

// Factors that make every statistic an even function around s = 0, or one with a limit other than zero as
// s -> ∞: the spreads come from two tokens within 1/s of each other at the top, with a probability of the
// order 1/s.
Fields factors(PanelVariable variable, double s) {
  Fields factor;
  factor.fill(1);
  if (variable == PanelVariable::kInverse) {
    factor[kMse] = s * s;
    factor[kD] = factor[kB] = 1 / (s * s * s);
    factor[kSlopeP2] = factor[kSlopeP3] = factor[kSlopeP2P2] = 1 / (s * s);
  } else {
    factor[kMean] = factor[kSlopeP2] = factor[kSlopeP3] = factor[kSlopeP2P2] = s;
  }
  return factor;
}

// E[A²] + F = E[P_2] + (1 + s²) F: even in s, one at s = 0, with a limit as s -> ∞, where F itself vanishes.
Estimate square_and_F(const SoftmaxMoments& m) {
  return {m.square.value + prediction_square(m), m.s < 1 ? m.P2.error : 2 * m.square.error + m.P2.error};
}

std::array<Estimate, kFields> fields_of(const SoftmaxMoments& m) {
  return {m.P2,   m.P3,       m.P2P2,     m.mse,        m.variance_mse, m.squared_spread, m.variance,
          m.mean, m.P2_slope, m.P3_slope, m.P2P2_slope, m.variance_P2,  square_and_F(m)};
}

double node(std::size_t i) {
  return std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(kNodes));
}

using Samples = std::array<double, kNodes>;

// cos(π j/2n) for all j that occur below.
std::array<double, 4 * kNodes> cosines() {
  std::array<double, 4 * kNodes> table{};
  for (std::size_t j = 0; j < table.size(); ++j) {
    table[j] = std::cos(std::numbers::pi * static_cast<double>(j) / static_cast<double>(2 * kNodes));
  }
  return table;
}

// The coefficients of Σ c_k T_k through the samples.
Samples chebyshev(const Samples& samples) {
  static const auto kCosines = cosines();
  Samples coefficients{};
  for (std::size_t k = 0; k < kNodes; ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < kNodes; ++i) sum += samples[i] * kCosines[k * (2 * i + 1) % (4 * kNodes)];
    coefficients[k] = sum * (k == 0 ? 1.0 : 2.0) / static_cast<double>(kNodes);
  }
  return coefficients;
}

}  // namespace

double prediction_square(const SoftmaxMoments& m) {
  if (m.s < 1) return 1 - m.P2.value - 6 * m.P3.value + 6 * m.P2P2.value;
  return (m.square.value - m.P2.value) / (m.s * m.s);
}

double PanelRange::variable_of(double s) const {
  const double value = variable == PanelVariable::kSquare  ? s * s
                       : variable == PanelVariable::kPlain ? s
                                                           : 1 / s;
  return std::clamp((2 * value - low - high) / (high - low), -1.0, 1.0);
}

double PanelRange::s_of(double x) const {
  const double value = low + 0.5 * (high - low) * (1 + x);
  switch (variable) {
    case PanelVariable::kSquare: return std::sqrt(value);
    case PanelVariable::kPlain: return value;
    default: return std::min(1 / value, kLargestScoreSpread);
  }
}

SoftmaxPanel::SoftmaxPanel(const LengthLaw& lengths, const PanelRange& range)
    : range_(range), coefficients_((3 + kNodes) * kFields) {
  std::array<Samples, kFields> values{}, errors{};
  for (std::size_t i = 0; i < kNodes; ++i) {
    const double s = range.s_of(node(i));
    const auto fields = fields_of(softmax_moments(s, lengths.rule()));
    const Fields factor = factors(range.variable, s);
    for (std::size_t field = 0; field < kFields; ++field) {
      values[field][i] = fields[field].value / factor[field];
      errors[field][i] = fields[field].error / factor[field];
    }
  }

  // r is the beginning of the Chebyshev series of the logarithm.
  std::array<Samples, kFields> scale{};
  for (std::size_t field = 0; field < kFields; ++field) {
    Samples logs{};
    for (std::size_t i = 0; i < kNodes; ++i)
      logs[i] = std::log(std::max(values[reference(field)][i], least_size(field)));
    const Samples series = chebyshev(logs);
    const double r[] = {series[0] - series[2], series[1], 2 * series[2]};
    for (std::size_t power = 0; power < 3; ++power) coefficients_[power * kFields + field] = r[power];
    for (std::size_t i = 0; i < kNodes; ++i) {
      const double x = node(i);
      scale[field][i] = std::exp(r[0] + x * (r[1] + x * r[2]));
    }
  }

  for (std::size_t field = 0; field < kFields; ++field) {
    Samples samples{};
    double size = std::numeric_limits<double>::infinity();  // smallest size that errors are measured by
    double noise = 0;
    for (std::size_t i = 0; i < kNodes; ++i) {
      samples[i] = values[field][i] / scale[field][i];
      const double measure = std::max(values[reference(field)][i], least_size(field));
      size = std::min(size, measure / scale[field][i]);
      noise = std::max(noise, errors[field][i] / measure);
    }
    const Samples series = chebyshev(samples);
    for (std::size_t k = 0; k < kNodes; ++k) coefficients_[(3 + k) * kFields + field] = series[k];
    const double tail = (std::abs(series[kNodes - 1]) + std::abs(series[kNodes - 2])) / size;
    excess_ = std::max(excess_, tail / std::max(kTolerance, noise));
    relative_error_ = std::max(relative_error_, kSafety * tail + noise);
  }
}

SoftmaxStatistics SoftmaxPanel::operator()(double s) const {
  ensure_simd_level();
  alignas(64) double f[kFields];
  HWY_DYNAMIC_DISPATCH(EvaluatePanel)(coefficients_.data(), range_.variable_of(s), f);
  const Fields factor = factors(range_.variable, s);
  for (std::size_t field = 0; field < kFields; ++field) f[field] *= factor[field];
  SoftmaxStatistics m;
  m.P2 = f[kP2];
  m.P3 = f[kP3];
  m.P2P2 = f[kP2P2];
  m.mean = f[kMean];
  m.bias = -s * f[kP2];
  m.mse = f[kMse];
  m.variance = f[kB];
  m.variance_mse = f[kBB];
  m.variance_P2 = f[kBP2];
  m.squared_spread = f[kD];
  m.P2_slope = f[kSlopeP2];
  m.P3_slope = f[kSlopeP3];
  m.P2P2_slope = f[kSlopeP2P2];
  m.F = (f[kSquareAndF] - f[kP2]) / (1 + s * s);
  m.relative_error = relative_error_;
  return m;
}

}  // namespace largo::exact
#endif  // HWY_ONCE
