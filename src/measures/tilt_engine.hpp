// Softmax-weighted sums over a prompt that is given, on a device.
#pragma once

#include <cstddef>
#include <span>

#include "largo/numerics/array_view.hpp"
#include "largo/numerics/execution.hpp"
#include "largo/numerics/matrix.hpp"

namespace largo {

class TiltEngine {
 public:
  virtual ~TiltEngine() = default;

  /// With weights w = 2^{t - top}, t = <a, z - centre> log2 e: a row for each direction a (column), of Σ w, Σ
  /// w², Σ w (z
  /// - centre), where asked for Σ w (z - centre)(z - centre)ᵀ (of row j the entries 0, ..., j, row after
  /// row), and top, a whole number. Tokens and products in float32, summed in float64 every 256 tokens; the
  /// same bits from run to run. InputError where the prompt or its dimension is too large for the device.
  virtual void sum_prompt(const ArrayView& tokens, const ConstMatrixRef& directions,
                          const ConstVectorRef& centre, bool covariance, const Execution& execution,
                          std::span<double> rows) const = 0;

  static std::size_t row_size(std::ptrdiff_t dimension, bool covariance) {
    const auto d = static_cast<std::size_t>(dimension);
    return 3 + d + (covariance ? d * (d + 1) / 2 : 0);
  }

 protected:
  TiltEngine() = default;
  TiltEngine(const TiltEngine&) = default;
  TiltEngine& operator=(const TiltEngine&) = default;
};

}  // namespace largo
