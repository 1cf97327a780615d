// R_L(U, v) of softmax attention for any parameters, by quadrature: no sampling, whatever the dimension is.
//
// Given the coordinate ξ of the query along U_21, the only one that multiplies the task, s² is a quadratic
// form of a Gaussian. So the average over (w, x_q) is one integral over ξ and one over s². docs/icl.md
// derives this.
#pragma once

#include "largo/icl/regression_problem.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// R_L(U, v). Domain: 1 <= L <= kLargestL, spreads s of the scores up to kLargestScoreSpread wherever the
/// average has a share (entries of U up to about 1e3); otherwise InputError. Error: 1e-5 of the risk or less
/// as reported, 1e-9 in truth as a rule: what is reported is the sum of the changes when the rules over ξ and
/// over s² have every other node only (the step of the latter is halved until that is 1e-7), and of the
/// errors on the contours, of the table and of rounding. No bound in the strict sense: features narrower than
/// the steps would be seen by neither rule. Cost: 0.15 s for d = 5 on one core, with its gradient 0.5 s
/// (docs/icl.md), ten times that at L = 1e300; the first time at a length a SoftmaxTable.
Estimate exact_risk(const RegressionProblem& problem, double L, const RegressionParameters& parameters,
                    const Execution& execution = {});

/// exact_risk() by rules that are a third to a tenth of the work: its error is up to 1e-5 of the risk, and
/// reported alike. For risks in great numbers.
Estimate rough_risk(const RegressionProblem& problem, double L, const RegressionParameters& parameters,
                    const Execution& execution);

/// The risk together with its gradient in (U, v), in the layout of to_vector(), and the error of the gradient
/// in the Euclidean norm, by the same rules. Where U_21 is small beside U_11 the part of the gradient
/// along it loses digits, in proportion; the error reported knows.
struct RiskAndGradient {
  Estimate risk;
  Vector gradient;
  double gradient_error = 0;
};
RiskAndGradient exact_risk_and_gradient(const RegressionProblem& problem, double L,
                                        const RegressionParameters& parameters,
                                        const Execution& execution = {});

}  // namespace largo
