// In-context regression whose covariates, queries and tasks have coordinates ±1: a problem with tokens that
// are not Gaussian given the task, for which both the flow of the infinite prompt and the errors of attention
// over L tokens are known.
#pragma once

#include <vector>

#include "claims/errors_in_training.hpp"
#include "largo/icl/prompt_task.hpp"

namespace largo::claims {

/// The task, for sampling.
PromptTaskPtr signs_task(Eigen::Index d);

/// The gradient flow of the infinite prompt from A = αI/√d, b = α until it is stationary. With t = tanh a the
/// prediction of (A, b) = (aI, b) for the task w and the query x is b t <w, x>, since a coordinate tilted by
/// ±a has the mean ±t; so
///
///   R_∞(a, b) = d/2 (b t - 1)²,
///
/// and by symmetry the flow stays there. The points are about as many as `count`, as in points_along().
std::vector<PointOnPath> signs_path(Eigen::Index d, double alpha, int count);

/// The errors on that path, averaged over all tasks and queries: signs of coordinates may be flipped in
/// tokens, task and query together, so that one task is enough, and queries with the same number of negative
/// signs have the same errors. Tokens given the task are 2^d points. Domain: points with A = aI. Error: that
/// of ExactErrors.
ErrorsOnPath signs_errors(Eigen::Index d, std::vector<PointOnPath> path, std::vector<double> lengths,
                          const Execution& execution);

}  // namespace largo::claims
