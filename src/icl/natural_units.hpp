// Units in which a regression problem has covariances of size one.
//
// Tokens in units of t, queries of q and tasks of h, x = t x', x_q = q x_q', w = h w', map the problem to
//   Σ' = Σ/t²,   Σ_q' = Σ_q/q²,   Ω' = Ω/h²,   τ'² = τ²/(th)²,   γ' = γ q²,
// and its flow on the invariant set to a flow again: with (A, b) = (q/t) (A', b') scores are the same,
// R_L(A, b) = (qh)² R'_L(A', b'), and the time of dA/dt = -∂R/∂A, db/dt = -∂R/∂b is t'/(th)². (A and b must
// have the same factor, or the flow were that of another metric; so γ takes up what is left.)
//
// Where a flow ends does not depend on its metric, as far as the end is the only one. With A in units of
// 1/(tqg) and b of q/t the score scale, too, is of size one, γ'' = γ/g, and R_L is in units of (qh)² again.
#pragma once

#include <memory>

#include "largo/icl/invariant_set.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/runtime/matrix.hpp"
#include "largo/training/gradient_flow.hpp"

namespace largo::icl {

class NaturalUnits {
 public:
  /// Powers of two, so that nothing is rounded; 1 for a covariance that is zero.
  explicit NaturalUnits(const RegressionProblem& problem);

  /// The problem in these units. InputError where its noise or score scale leaves the range of doubles.
  RegressionProblem problem() const { return problem_; }

  /// The same with a score scale of size one, whose flows have the same ends; and a start there that is the
  /// same share of largest_admissible_alpha().
  RegressionProblem round_problem() const;
  InvariantPoint round_start(const InvariantPoint& start) const;

  double parameters() const { return query_ / token_; }  ///< A/A' = b/b'
  double risk() const { return (query_ * task_) * (query_ * task_); }
  double time() const { return 1 / (token_ * task_) / (token_ * task_); }
  bool are_given() const { return token_ == 1 && query_ == 1 && task_ == 1; }  ///< the problem's own

  /// A flow or its plan, from these units to those of the problem or back.
  FlowPlan to_natural(const FlowPlan& plan) const;
  FlowResult to_given(const FlowResult& flow) const;

 private:
  double token_, query_, task_, score_;
  double largest_alpha_;  // of the problem given
  RegressionProblem problem_;
};

/// The risk of NaturalUnits::problem() as one of the problem.
std::shared_ptr<const Risk> in_given_units(std::shared_ptr<const Risk> risk, const NaturalUnits& units);

}  // namespace largo::icl
