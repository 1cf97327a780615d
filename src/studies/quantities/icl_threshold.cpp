// L(ε): the smallest prompt length whose trained risk is within ε of the limit.
#include "largo/icl/threshold.hpp"
#include "studies/quantities/icl_parameters.hpp"

namespace largo {
namespace {

class IclThreshold final : public Quantity {
 public:
  IclThreshold()
      : Quantity("icl-threshold",
                 with_training({{.name = "epsilon",
                                 .kind = ParameterKind::positive,
                                 .required = true,
                                 .spacing = Spacing::kLog}}),
                 {"L", "risk", "limit"}) {}

  void check(const UnitInputs& inputs) const override {
    start_of(inputs, problem_of(inputs));
    flow_tolerance(inputs, ThresholdPlan().flow.relative_tolerance);
  }

 protected:
  std::vector<UnitResult> compute(const UnitInputs& inputs, const Execution& execution) const override {
    const RegressionProblem problem = problem_of(inputs);
    ThresholdPlan plan;
    plan.attention = attention_of(inputs);
    plan.flow.relative_tolerance = flow_tolerance(inputs, plan.flow.relative_tolerance);
    const double epsilon = inputs.number("epsilon");
    const Threshold found = threshold(problem, epsilon, start_of(inputs, problem), plan, execution);
    return {UnitResult(found.L), UnitResult(found.risk), UnitResult(found.limit)};
  }
  bool bounds_errors(const UnitInputs&) const override { return false; }  // it is that of a step
};

}  // namespace

const Quantity& icl_threshold_quantity() {
  static const IclThreshold quantity;
  return quantity;
}

}  // namespace largo
