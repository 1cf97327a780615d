#include "studies/quantities/icl_parameters.hpp"

#include "largo/icl/training/make_training_plan.hpp"

#include <iterator>

#include "largo/runtime/check.hpp"

namespace largo {

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

double flow_tolerance(const UnitInputs& inputs, double otherwise) {
  const double tolerance = inputs.tolerance().value_or(otherwise);
  if (!(tolerance >= kLeastTolerance && tolerance <= kLargestTolerance)) {
    fail("icl", "tolerance", tolerance, "between 1e-13 and 0.01");
  }
  return tolerance;
}

}  // namespace largo
