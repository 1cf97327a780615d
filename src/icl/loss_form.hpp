// The losses that kernels know, as one definition for CPU and GPU.
#pragma once

#include <cstdint>

#include "runtime/host_device.hpp"

namespace largo::icl {

enum class LossShape : std::uint8_t { squared, huber, absolute };

struct LossForm {
  LossShape shape = LossShape::squared;
  double delta = 1;  ///< of Huber's loss
};

struct LossNumbers {
  double value = 0, slope = 0;
};

/// The loss of one coordinate and its slope in the output, as in largo/icl/loss.hpp.
LARGO_HOST_DEVICE LossNumbers loss_numbers(const LossForm& form, double output, double target) {
  const double r = output - target, size = runtime::size_of_number(r);
  switch (form.shape) {
    case LossShape::squared: break;
    case LossShape::huber:
      if (!(size <= form.delta))
        return {form.delta * (size - form.delta / 2), r < 0 ? -form.delta : form.delta};
      break;
    case LossShape::absolute: return {size, r < 0 ? -1.0 : r > 0 ? 1.0 : 0.0};
  }
  return {r * r / 2, r};
}

}  // namespace largo::icl
