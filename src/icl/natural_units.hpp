// Units in which a regression problem has covariances of size one.
//
// With tokens in units of t, queries in units of q and tasks in units of h, that is x = t x', x_q = q x_q'
// and w = h w', the problem becomes
//   Σ' = Σ/t²,   Σ_q' = Σ_q/q²,   Ω' = Ω/h²,   τ'² = τ²/(th)²,   γ' = γ q²,
// and its flow on the invariant set becomes another flow. With (A, b) = (q/t) (A', b') scores are the same,
// R_L(A, b) = (qh)² R'_L(A', b'), and the time of dA/dt = -∂R/∂A, db/dt = -∂R/∂b is t'/(th)². (A and b must
// have the same factor, or the flow would be that of another metric; so γ takes up the rest.)
//
// The end of a flow does not depend on its metric, as long as there is only one end. With A in units of
// 1/(tqg) and b in units of q/t, the score scale also has size one, γ'' = γ/g, and R_L is in units of (qh)².
#pragma once

#include <memory>

#include "largo/icl/invariant_set.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/runtime/matrix.hpp"
#include "largo/training/gradient_flow.hpp"

namespace largo::icl {

class NaturalUnits {
 public:
  /// The units are powers of two, so that nothing is rounded; 1 for a covariance of zero.
  explicit NaturalUnits(const RegressionProblem& problem);

  /// The problem in these units. InputError if its noise or score scale leaves the range of double.
  RegressionProblem problem() const { return problem_; }

  /// The same with a score scale of size one, whose flows have the same ends; and a start for it that is the
  /// same share of largest_admissible_alpha().
  RegressionProblem round_problem() const;
  InvariantPoint round_start(const InvariantPoint& start) const;

  double parameters() const { return query_ / token_; }  ///< A/A' = b/b'
  double risk() const { return (query_ * task_) * (query_ * task_); }
  double time() const { return 1 / (token_ * task_) / (token_ * task_); }
  bool are_given() const { return token_ == 1 && query_ == 1 && task_ == 1; }  ///< the problem's own units

  /// Convert the plan of a flow to these units, and a flow back to the units of the problem.
  FlowPlan to_natural(const FlowPlan& plan) const;
  FlowResult to_given(const FlowResult& flow) const;

 private:
  double token_, query_, task_, score_;
  double largest_alpha_;  // for the given problem
  RegressionProblem problem_;
};

/// The risk of NaturalUnits::problem() in the units of the given problem.
std::shared_ptr<const Risk> in_given_units(std::shared_ptr<const Risk> risk, const NaturalUnits& units);

}  // namespace largo::icl
