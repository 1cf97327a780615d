// Softmax-weighted sums over a given prompt, on a device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "largo/runtime/array_view.hpp"
#include "largo/runtime/device.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::measures {

/// A prompt that a device keeps in its memory, as far as there is room, from the first pass on and for as
/// long as this object lives. Several threads may use it, one after the other.
class KeptPrompt {
 public:
  KeptPrompt(const KeptPrompt&) = delete;
  KeptPrompt& operator=(const KeptPrompt&) = delete;
  virtual ~KeptPrompt() = default;

  /// Writes a row for each direction a, which is a column. With weights w = 2^{t - top}, t = <a, z - centre>
  /// log2 e, the row holds Σ w, Σ w², Σ w (z - centre), if asked for Σ w (z - centre)(z - centre)ᵀ (row after
  /// row, of row j the entries 0, ..., j), and top, an integer. Reads the tokens once for up to 64
  /// directions. Tokens and products are in float32, and are summed in float64 every 256 tokens. The bits are
  /// the same from run to run, whether or not the device has room for the prompt. InputError if the dimension
  /// is too large for the device. Throws Stopped.
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
  /// The tokens and the engine must outlive the result.
  virtual std::shared_ptr<KeptPrompt> keep(const ArrayView& tokens) const = 0;
};

}  // namespace largo::measures
