// The invariant set of in-context regression, U = [[A, 0], [0, 0]] and v = (0, b): where training starts in
// the paper, and where it ends.
#pragma once

#include <memory>

#include "largo/icl/regression_problem.hpp"
#include "largo/training/parameter_map.hpp"

namespace largo {

/// A point of the invariant set.
struct InvariantPoint {
  Matrix A;
  double b = 0;
  /// ‖A‖_F² - b²: kept by flows whose risk depends on bA alone, as those of L = ∞ and of linear attention do.
  double balance() const { return A.squaredNorm() - b * b; }
};

/// A(0) = α ΘΘᵀ / ‖ΘΘᵀ‖_F, b(0) = α. Domain: α > 0, Θ d x k and not zero; otherwise InputError.
InvariantPoint paper_start(const RegressionProblem& problem, double alpha, const ConstMatrixRef& theta);
/// With Θ = I.
InvariantPoint paper_start(const RegressionProblem& problem, double alpha);

/// The α below which the paper proves that the flow of an infinite prompt ends at the global minimum,
/// √2/(d^{1/4} ‖Σ‖_op √γ): its own, with Ω = I and Σ_q = Σ, for scores scaled by γ.
double largest_admissible_alpha(const RegressionProblem& problem);

/// Where the flow of an infinite prompt ends that starts with this balance: γ b ΣA = I. The paper's A_∞ =
/// tr(Σ^-2)^{-1/4} Σ^-1, b_∞ = tr(Σ^-2)^{1/4} for balance 0. InputError: Σ singular (condition above 1e12),
/// or γ = 0.
InvariantPoint infinite_limit(const RegressionProblem& problem, double balance = 0);

/// The minimum of linear attention's risk at length L, in closed form, with balance 0.
InvariantPoint best_linear(const RegressionProblem& problem, double L);

/// The smallest set of parameters of the invariant set that holds `start` and its whole flow, for every L: A
/// = aI/√d where all covariances are multiples of I, A diagonal in a common basis of all covariances and A(0)
/// if there is one, else all of A. Isometric: flows and distances are those of (A, b).
std::shared_ptr<const ParameterMap> flow_parameters(const RegressionProblem& problem,
                                                    const InvariantPoint& start);

}  // namespace largo
