// One panel of a SoftmaxTable: the statistics for s in an interval, averaged over a law of lengths.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "largo/exact/length_law.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::exact {

/// The variable that x in [-1, 1] stands for.
enum class PanelVariable { kSquare, kPlain, kInverse };

struct PanelRange {
  PanelVariable variable;
  double low, high;  ///< range of s², s or 1/s

  double variable_of(double s) const;
  double s_of(double x) const;
};

/// F of SoftmaxStatistics: from E[A²] where the sum of power sums cancels, from that sum where s² is small.
double prediction_square(const SoftmaxMoments& m);

class SoftmaxPanel {
 public:
  static constexpr std::size_t kNodes = 20;
  /// A multiple of four, for the kernel. Order: P2, P3, P2P2, mse, variance_mse, squared_spread, variance,
  /// mean, the slopes of P2, P3, P2P2, variance_P2, E[A²] + F; the rest is zero.
  static constexpr std::size_t kFields = 16;
  using Fields = std::array<double, kFields>;

  SoftmaxPanel(const LengthLaw& lengths, const PanelRange& range);

  const PanelRange& range() const { return range_; }
  /// The error of interpolation alone, in the sense of SoftmaxStatistics::relative_error, divided by what the
  /// interpolated values allow. Above 1 the panel is too wide.
  double excess() const { return excess_; }
  SoftmaxStatistics operator()(double s) const;

 private:
  PanelRange range_;
  double excess_ = 0, relative_error_ = 0;
  /// Coefficients of r (three rows), then of the Chebyshev series, each for all fields.
  runtime::AlignedVector<double> coefficients_;
};

}  // namespace largo::exact
