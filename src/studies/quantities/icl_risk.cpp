// Risks of given parameters of in-context regression, beside the Bayes risk.
#include <cmath>

#include "largo/icl/regression_risk.hpp"
#include "largo/icl/ridge_floor.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "studies/quantities/icl_parameters.hpp"

namespace largo {
namespace {

constexpr const char* kName = "icl-risk";

RegressionParameters parameters_of(const UnitInputs& inputs, const RegressionProblem& problem) {
  const Eigen::Index d = problem.dimension();
  const std::string A = inputs.text("A");
  const auto b = inputs.given_number("b");
  if (A.empty() != !b.has_value()) fail(kName, "A and b go together");
  const InvariantPoint point = b ? InvariantPoint{named_matrix("A", A, d, d), *b} : infinite_limit(problem);
  RegressionParameters parameters{Matrix::Zero(d + 1, d + 1), Vector::Zero(d + 1)};
  parameters.U.topLeftCorner(d, d) = point.A;
  parameters.v[d] = point.b;
  return parameters;
}

class IclRisk final : public Quantity {
 public:
  IclRisk()
      : Quantity(
            kName,
            with_problem(
                {{.name = "A", .kind = ParameterKind::matrix},
                 {.name = "b"},
                 {.name = "L", .kind = ParameterKind::length, .required = true},
                 {.name = "method", .kind = ParameterKind::text, .otherwise = "exact", .choices = {"exact"}},
                 {.name = "samples", .kind = ParameterKind::draws, .otherwise = 20000.0}}),
            {"softmax", "linear", "ridge"}) {}

  void check(const UnitInputs& inputs) const override { parameters_of(inputs, problem_of(inputs)); }

 protected:
  std::vector<UnitResult> compute(const UnitInputs& inputs, const Execution& execution) const override {
    const RegressionProblem problem = problem_of(inputs);
    const RegressionParameters parameters = parameters_of(inputs, problem);
    const double L = inputs.number("L");
    const auto risk = [&](AttentionKind kind) {
      return UnitResult(regression_risk(problem, kind, L, parameters, {.seed = inputs.seed()}, execution));
    };
    UnitResult ridge;  // of whole prompts
    if (std::isinf(L) || L == std::floor(L)) {
      const SamplingPlan plan{.samples = static_cast<std::int64_t>(inputs.number("samples")),
                              .relative_error = inputs.tolerance().value_or(0)};
      const RidgeFloor floor = ridge_floor(problem, L, plan, inputs.seed(), execution);
      ridge = UnitResult(floor.value, floor.standard_error);
      ridge.sampled = floor.samples > 0;
    }
    return {risk(AttentionKind::softmax), risk(AttentionKind::linear), ridge};
  }
};

}  // namespace

const Quantity& icl_risk_quantity() {
  static const IclRisk quantity;
  return quantity;
}

}  // namespace largo
