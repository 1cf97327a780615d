// The losses of loss_form.hpp as a Loss: their form can be handed to a kernel.
#pragma once

#include "icl/loss_form.hpp"
#include "largo/icl/loss.hpp"

namespace largo::icl {

class KnownLoss final : public Loss {
 public:
  explicit KnownLoss(LossForm form) : form_(form) {}

  LossPoint at(double output, double target) const override {
    const LossNumbers numbers = loss_numbers(form_, output, target);
    return {numbers.value, numbers.slope};
  }
  std::optional<double> quadratic_factor() const override {
    return form_.shape == LossShape::squared ? std::optional(0.5) : std::nullopt;
  }
  bool is_smooth() const override { return form_.shape != LossShape::absolute; }

  const LossForm& form() const { return form_; }

 private:
  LossForm form_;
};

}  // namespace largo::icl
