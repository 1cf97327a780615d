// Training by gradient flow on the invariant set: where it ends, and how far it is from the infinite
// prompt's.
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/train.hpp"
#include "studies/quantities/icl_parameters.hpp"

namespace largo {
namespace {

constexpr double kTolerance = 1e-9;

class IclFlow final : public Quantity {
 public:
  IclFlow()
      : Quantity("icl-flow",
                 with_training({{.name = "L", .kind = ParameterKind::length, .required = true},
                                {.name = "time", .kind = ParameterKind::positive}}),
                 {"final_risk", "distance_to_limit_flow", "b"}) {}

  void check(const UnitInputs& inputs) const override {
    start_of(inputs, problem_of(inputs));
    flow_tolerance(inputs, kTolerance);
  }

 protected:
  std::vector<UnitResult> compute(const UnitInputs& inputs, const Execution& execution) const override {
    TrainingRequest request;
    request.function = name();
    request.problem = problem_of(inputs);
    request.start = start_of(inputs, request.problem);
    request.attention = {attention_of(inputs)};
    request.lengths = {inputs.number("L")};
    request.parameters = Parametrisation::invariant;
    request.tolerance = flow_tolerance(inputs, kTolerance);
    request.time = inputs.given_number("time");
    const TrainingRun run = train(make_training_plan(request).plan, execution).at(0);
    return {UnitResult(run.final_risk),
            run.to_limit_flow ? UnitResult(run.to_limit_flow->parameters.value) : UnitResult(),
            UnitResult(run.last.v[request.problem.dimension()])};
  }
  bool bounds_errors(const UnitInputs&) const override { return false; }  // it is that of a step
};

}  // namespace

const Quantity& icl_flow_quantity() {
  static const IclFlow quantity;
  return quantity;
}

}  // namespace largo
