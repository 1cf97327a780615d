#include "icl/known_loss.hpp"

#include <memory>

#include "largo/runtime/check.hpp"

namespace largo {

LossPtr squared_loss() { return std::make_shared<icl::KnownLoss>(icl::LossForm{icl::LossShape::squared}); }

LossPtr huber_loss(double delta) {
  check_positive("huber_loss", "delta", delta);
  check_finite("huber_loss", "delta", delta);
  return std::make_shared<icl::KnownLoss>(icl::LossForm{icl::LossShape::huber, delta});
}

LossPtr absolute_loss() { return std::make_shared<icl::KnownLoss>(icl::LossForm{icl::LossShape::absolute}); }

}  // namespace largo
