// The invariant set of in-context regression, U = [[A, 0], [0, 0]] and v = (0, b). In the paper training
// starts on this set and ends on it.
#pragma once

#include <memory>

#include "largo/exact/length_law.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/training/parameter_map.hpp"

namespace largo {

/// A point of the invariant set.
struct InvariantPoint {
  Matrix A;
  double b = 0;
  /// ‖A‖_F² - b². Flows conserve it if the risk depends on bA alone, as for L = ∞ and for linear attention.
  double balance() const { return A.squaredNorm() - b * b; }
};

/// A(0) = α ΘΘᵀ / ‖ΘΘᵀ‖_F, b(0) = α. Domain: α > 0, Θ d x k and not zero; otherwise InputError.
InvariantPoint paper_start(const RegressionProblem& problem, double alpha, const ConstMatrixRef& theta);
/// The same with Θ = I.
InvariantPoint paper_start(const RegressionProblem& problem, double alpha);

/// The paper proves that the flow of an infinite prompt ends at the global minimum if α is below
/// √2/(d^{1/4} ‖Σ‖_op √γ). This is the paper's own bound, for Ω = I and Σ_q = Σ, with scores scaled by γ. It
/// changes with the units of the data and is enough, but not needed: the flow ends there from every α > 0
/// (docs/icl.md).
double largest_admissible_alpha(const RegressionProblem& problem);

/// The end of the flow of an infinite prompt that starts with this balance: γ b ΣA = I. For balance 0 it is
/// the paper's A_∞ = tr(Σ^-2)^{-1/4} Σ^-1, b_∞ = tr(Σ^-2)^{1/4}. InputError if Σ is singular (condition above
/// 1e12) or γ = 0.
InvariantPoint infinite_limit(const RegressionProblem& problem, double balance = 0);

/// The minimum of the risk of linear attention at length L, in closed form, with balance 0.
InvariantPoint best_linear(const RegressionProblem& problem, const LengthLaw& L);

/// Coordinates on the smallest subset of the invariant set that contains `start` and its whole flow, for
/// every L. The subset is A = aI/√d if all covariances and A(0) are multiples of I; A diagonal in a common
/// basis of all covariances and A(0) if there is one; otherwise all A. The map is isometric: flows and
/// distances are those of (A, b).
std::shared_ptr<const ParameterMap> flow_parameters(const RegressionProblem& problem,
                                                    const InvariantPoint& start);

}  // namespace largo
