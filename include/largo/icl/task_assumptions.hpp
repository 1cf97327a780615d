// The hypotheses about in-context regression: what assumptions.hpp lists for one law of tokens, averaged over
// the tasks. Given the task W (and the scale s of its noise) the tokens are M (x, ε), M = [[I, 0], [W, s I]],
// so what is known of x and ε carries over with powers of ‖M‖, and tasks need moments. docs/assumptions.md
// has the proofs.
#pragma once

#include <vector>

#include "largo/concentration/assumptions.hpp"
#include "largo/icl/in_context_problem.hpp"

namespace largo {

/// In this order:
///   sub_gaussian_given_task   a bound on E σ_W², with tokens σ_W-sub-Gaussian given the task
///   one_sigma_for_all_tasks   sup σ_W
///   sub_gaussian_queries      as in assumptions()
///   task_moment_16            E‖W‖¹⁶: enough for the two rows that follow
///   tilted_moment_4, _8       E‖z'‖⁴ and ⁸ under the tilted law, averaged over tasks and queries
///   finite_rho                ln E ρ over tasks and queries
/// `U` is (d + m) x (d + m). Moments are exact for Gaussian regression with at most five dimensions of tasks,
/// by Gauss-Hermite rules that integrate their polynomials; otherwise they are bounds. InputError unless the
/// problem is a regression, and U has its size and is finite. Cost: below a second.
std::vector<Assumption> task_assumptions(const InContextProblem& problem, const Matrix& U);
std::vector<Assumption> task_assumptions(const RegressionProblem& problem, const Matrix& U);

}  // namespace largo
