// The parameters that describe a task of in-context regression, and the start of its training.
#pragma once

#include <string>
#include <vector>

#include "largo/attention/attention.hpp"
#include "largo/icl/named_problem.hpp"
#include "studies/quantity.hpp"

namespace largo {

/// preset, d, cov, query-cov, prior, noise, score-scale, then `more`.
std::vector<Parameter> with_problem(std::vector<Parameter> more);
/// with_problem, then alpha, theta and attention, then `more`.
std::vector<Parameter> with_training(std::vector<Parameter> more);

RegressionProblem problem_of(const UnitInputs& inputs);
InvariantPoint start_of(const UnitInputs& inputs, const RegressionProblem& problem);
AttentionKind attention_of(const UnitInputs& inputs);

/// The tolerance of a flow's steps: what the inputs say, or `otherwise`. InputError outside 1e-13 … 1e-2.
double flow_tolerance(const UnitInputs& inputs, double otherwise);

}  // namespace largo
