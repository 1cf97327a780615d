// Statistics of softmax attention over L Gaussian tokens whose scores have standard deviation s.
#include "largo/exact/softmax_moments.hpp"
#include "studies/quantity.hpp"

namespace largo::studies {
namespace {

class Moments final : public Quantity {
 public:
  Moments()
      : Quantity(
            "moments",
            {{.name = "s", .required = true},
             {.name = "L", .kind = ParameterKind::length, .required = true},
             {.name = "method", .kind = ParameterKind::text, .otherwise = "exact", .choices = {"exact"}}},
            {"P2", "P3", "P2P2", "mean", "bias", "mse", "effective_tokens"}) {}

  void check(const UnitInputs& inputs) const override {
    check_score_spread(name(), inputs.number("s"));
    check_prompt_length(name(), inputs.number("L"));
  }

 protected:
  std::vector<UnitResult> compute(const UnitInputs& inputs, const Execution&) const override {
    const SoftmaxMoments m = softmax_moments(inputs.number("s"), inputs.number("L"));
    const double tokens = 1 / m.P2.value;
    const UnitResult effective =
        m.P2.value > 0 ? UnitResult(tokens, tokens * (m.P2.error / m.P2.value)) : UnitResult(tokens, 0);
    return {UnitResult(m.P2),   UnitResult(m.P3),  UnitResult(m.P2P2), UnitResult(m.mean),
            UnitResult(m.bias), UnitResult(m.mse), effective};
  }
};

}  // namespace

const Quantity& moments_quantity() {
  static const Moments quantity;
  return quantity;
}

}  // namespace largo::studies
