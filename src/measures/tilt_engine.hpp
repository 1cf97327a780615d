// Softmax-weighted sums over a prompt that is given, on a device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "largo/runtime/array_view.hpp"
#include "largo/runtime/device.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::measures {

/// A prompt that a device keeps, as far as it has room, from its first pass on and for as long as this lives.
/// May be used by several threads, one after the other.
class KeptPrompt {
 public:
  KeptPrompt(const KeptPrompt&) = delete;
  KeptPrompt& operator=(const KeptPrompt&) = delete;
  virtual ~KeptPrompt() = default;

  /// With weights w = 2^{t - top}, t = <a, z - centre> log2 e: a row for each direction a (column), of Σ w,
  /// Σ w², Σ w (z - centre), where asked for Σ w (z - centre)(z - centre)ᵀ (of row j the entries 0, ..., j,
  /// row after row), and top, a whole number. Reads the tokens once for up to 64 directions. Tokens and
  /// products in float32, summed in float64 every 256 tokens; the same bits from run to run, and whether the
  /// device has room for the prompt or not. InputError where the dimension is too large for it. Throws
  /// Stopped.
  virtual void sum(const ConstMatrixRef& directions, const ConstVectorRef& centre, bool covariance,
                   const Execution& execution, std::span<double> rows) = 0;

  static constexpr std::size_t row_size(std::ptrdiff_t dimension, bool covariance) {
    const auto d = static_cast<std::size_t>(dimension);
    return 3 + d + (covariance ? d * (d + 1) / 2 : 0);
  }

 protected:
  KeptPrompt() = default;
};

class TiltEngine : public Engine {
 public:
  /// The tokens must outlive what is returned, and so must the engine.
  virtual std::shared_ptr<KeptPrompt> keep(const ArrayView& tokens) const = 0;
};

}  // namespace largo::measures
