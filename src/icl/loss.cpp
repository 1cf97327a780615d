#include "largo/icl/loss.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "io/parse_numbers.hpp"
#include "largo/runtime/check.hpp"
#include "numerics/portable_math.hpp"

namespace largo {

LossPoint Loss::at(double /*output*/, double /*target*/) const {
  fail("Loss", "a loss of your own has to define at() or rows()");
}

LossRows Loss::rows(const ConstRowsRef& outputs, const ConstRowsRef& targets) const {
  check_shape("Loss", "targets", targets.rows(), targets.cols(), outputs.rows(), outputs.cols());
  LossRows rows{Vector::Zero(outputs.rows()), RowMatrix(outputs.rows(), outputs.cols())};
  for (Eigen::Index i = 0; i < outputs.rows(); ++i) {
    for (Eigen::Index k = 0; k < outputs.cols(); ++k) {
      const LossPoint one = at(outputs(i, k), targets(i, k));
      rows.values[i] += one.value;
      rows.slopes(i, k) = one.slope;
    }
  }
  return rows;
}

namespace {

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

LossPtr logistic_loss() { return std::make_shared<LogisticLoss>(); }

LossPtr named_loss(std::string_view text, std::string_view option) {
  constexpr std::string_view kHuber = "huber:";
  if (text == "squared") return squared_loss();
  if (text == "absolute") return absolute_loss();
  if (text == "logistic") return logistic_loss();
  if (text.starts_with(kHuber)) {
    const double delta = io::parse_number(std::string(option), text.substr(kHuber.size()));
    if (delta > 0 && std::isfinite(delta)) return huber_loss(delta);
  }
  fail("icl", std::string(option), fmt::format("'{}'", text),
       "squared, huber:DELTA with a positive DELTA, absolute or logistic");
}

}  // namespace largo
