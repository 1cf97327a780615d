#include "largo/icl/prompt_task.hpp"

#include <algorithm>
#include <cmath>

#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"

namespace largo {
namespace {

class SquaredLoss final : public Loss {
 public:
  LossPoint at(double output, double target) const override {
    const double difference = output - target;
    return {difference * difference / 2, difference};
  }
};

// log(1 + x) for 0 <= x <= 1, corrected for the rounding of 1 + x (Kahan).
double log_one_plus(double x) {
  const double sum = 1 + x;
  return sum == 1 ? x : numerics::portable_log(sum) * (x / (sum - 1));
}

class LogisticLoss final : public Loss {
 public:
  LossPoint at(double output, double target) const override {
    if (std::abs(target) != 1) fail("logistic_loss", "target", target, "-1 or 1");
    const double loss = -target * output;                          // ℓ = log(1 + e^loss)
    const double ratio = numerics::portable_exp(-std::abs(loss));  // never overflows
    const double sigmoid = (loss >= 0 ? 1 : ratio) / (1 + ratio);
    return {std::max(loss, 0.0) + log_one_plus(ratio), -target * sigmoid};
  }
};

}  // namespace

LossPtr squared_loss() { return std::make_shared<SquaredLoss>(); }
LossPtr logistic_loss() { return std::make_shared<LogisticLoss>(); }

}  // namespace largo
