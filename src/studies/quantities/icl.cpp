// The quantities of in-context regression: risks, flows, thresholds.
#include <cmath>
#include <iterator>

#include "largo/attention/attention_kind.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/icl/ridge_floor.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "studies/quantity.hpp"

namespace largo::studies {
namespace {

// The parameters preset, d, cov, query-cov, prior, noise and score-scale, then `more`.
std::vector<Parameter> with_problem(std::vector<Parameter> more) {
  std::vector<Parameter> all = {{.name = "preset",
                                 .kind = ParameterKind::text,
                                 .otherwise = "paper",
                                 .choices = {"paper", "published", "published-code"}},
                                {.name = "d", .kind = ParameterKind::whole},
                                {.name = "cov", .kind = ParameterKind::matrix},
                                {.name = "query-cov", .kind = ParameterKind::matrix},
                                {.name = "prior", .kind = ParameterKind::matrix},
                                {.name = "noise"},
                                {.name = "score-scale"}};
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return all;
}

// The parameters of with_problem(), then alpha, theta, attention and method, then `more`.
std::vector<Parameter> with_training(std::vector<Parameter> more) {
  std::vector<Parameter> all = {
      {.name = "alpha"},
      {.name = "theta", .kind = ParameterKind::matrix, .otherwise = "identity"},
      {.name = "attention",
       .kind = ParameterKind::text,
       .otherwise = "softmax",
       .choices = {"softmax", "linear"}},
      {.name = "method", .kind = ParameterKind::text, .otherwise = "flow", .choices = {"flow"}}};
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return with_problem(std::move(all));
}

RegressionProblem problem_of(const UnitInputs& inputs) {
  return named_problem({.preset = inputs.text("preset"),
                        .dimension = inputs.given_size("d"),
                        .covariance = inputs.text("cov"),
                        .query_covariance = inputs.text("query-cov"),
                        .prior = inputs.text("prior"),
                        .noise = inputs.given_number("noise"),
                        .score_scale = inputs.given_number("score-scale")});
}

InvariantPoint start_of(const UnitInputs& inputs, const RegressionProblem& problem) {
  return named_start(problem, inputs.given_number("alpha"), inputs.text("theta"));
}

AttentionKind attention_of(const UnitInputs& inputs) {
  return inputs.text("attention") == "linear" ? AttentionKind::linear : AttentionKind::softmax;
}

// The tolerance of a flow's steps, from the inputs or `otherwise`. Throws InputError outside 1e-13 … 1e-2.
double flow_tolerance(const UnitInputs& inputs, double otherwise) {
  const double tolerance = inputs.tolerance().value_or(otherwise);
  if (!(tolerance >= kLeastTolerance && tolerance <= kLargestTolerance)) {
    fail("icl", "tolerance", tolerance, "between 1e-13 and 0.01");
  }
  return tolerance;
}

// Training by gradient flow on the invariant set: where it ends, and its distance from the flow of the
// infinite prompt.

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
  bool bounds_errors(const UnitInputs&) const override { return false; }  // the tolerance is that of a step
};

}  // namespace

const Quantity& icl_flow_quantity() {
  static const IclFlow quantity;
  return quantity;
}

// Risks of given parameters of in-context regression, and the Bayes risk to compare them with.

namespace {

constexpr const char* kIclRisk = "icl-risk";

RegressionParameters parameters_of(const UnitInputs& inputs, const RegressionProblem& problem) {
  const Eigen::Index d = problem.dimension();
  const std::string A = inputs.text("A");
  const auto b = inputs.given_number("b");
  if (A.empty() != !b.has_value()) fail(kIclRisk, "A and b go together");
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
            kIclRisk,
            with_problem(
                {{.name = "A", .kind = ParameterKind::matrix},
                 {.name = "b"},
                 {.name = "L", .kind = ParameterKind::length, .required = true},
                 {.name = "method", .kind = ParameterKind::text, .otherwise = "exact", .choices = {"exact"}},
                 {.name = "prompts", .kind = ParameterKind::sample_size, .otherwise = 20000.0}}),
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
    UnitResult ridge;  // only for whole prompt lengths
    if (std::isinf(L) || L == std::floor(L)) {
      const SamplingPlan plan{.samples = static_cast<std::int64_t>(inputs.number("prompts")),
                              .relative_error = inputs.tolerance().value_or(0)};
      const RidgeFloor floor = ridge_floor(problem, L, plan, inputs.seed(), execution);
      ridge = UnitResult(floor.value, floor.standard_error);
      ridge.sampled = floor.prompts > 0;
    }
    return {risk(AttentionKind::softmax), risk(AttentionKind::linear), ridge};
  }
};

}  // namespace

const Quantity& icl_risk_quantity() {
  static const IclRisk quantity;
  return quantity;
}

// L(ε): the smallest prompt length whose trained risk is within ε of the limit.

namespace {

class IclThreshold final : public Quantity {
 public:
  IclThreshold()
      : Quantity("icl-threshold",
                 with_training({{.name = "epsilon",
                                 .kind = ParameterKind::positive,
                                 .required = true,
                                 .spacing = io::Spacing::kLog}}),
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
  bool bounds_errors(const UnitInputs&) const override { return false; }  // the tolerance is that of a step
};

}  // namespace

const Quantity& icl_threshold_quantity() {
  static const IclThreshold quantity;
  return quantity;
}

}  // namespace largo::studies
