// Statistics of softmax weights over tokens of several classes.
#include "largo/exact/token_classes.hpp"

#include "exact/named_class.hpp"
#include "studies/quantity.hpp"

namespace largo::studies {
namespace {

class ClassMomentsQuantity final : public Quantity {
 public:
  ClassMomentsQuantity()
      : Quantity(
            "class-moments",
            {{.name = "classes", .kind = ParameterKind::text, .required = true},
             {.name = "method", .kind = ParameterKind::text, .otherwise = "exact", .choices = {"exact"}}},
            {"first_weight", "P2", "P3", "P2P2", "effective_tokens", "entropy", "mean_score", "log_partition",
             "max_weight"}) {}

  void check(const UnitInputs& inputs) const override { classes_of(inputs); }

 protected:
  std::vector<UnitResult> compute(const UnitInputs& inputs, const Execution&) const override {
    const std::vector<TokenClass> classes = classes_of(inputs);
    const ClassMoments m = class_moments(classes);
    return {UnitResult(m.weights.front()),
            UnitResult(m.P2),
            UnitResult(m.P3),
            UnitResult(m.P2P2),
            UnitResult(1 / m.P2.value, m.P2.error / m.P2.value / m.P2.value),
            UnitResult(m.entropy),
            UnitResult(m.mean_score),
            UnitResult(m.log_partition),
            UnitResult(mean_largest_weight(classes))};
  }

 private:
  std::vector<TokenClass> classes_of(const UnitInputs& inputs) const {
    return exact::named_classes(name(), "classes", inputs.text("classes"));
  }
};

}  // namespace

const Quantity& class_moments_quantity() {
  static const ClassMomentsQuantity quantity;
  return quantity;
}

}  // namespace largo::studies
