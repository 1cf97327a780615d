// R_L(U, v) of softmax attention for any parameters, by quadrature: nothing is sampled, in any dimension.
//
// Let ξ be the coordinate of the query along U_21, the only one that multiplies the task. Given ξ, s² is a
// quadratic form of a Gaussian. So the average over (w, x_q) is one integral over ξ and one over s².
// docs/icl.md derives this.
#pragma once

#include "largo/exact/length_law.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// R_L(U, v). Domain: 1 <= L <= kLargestL, spreads s of the scores up to kLargestScoreSpread wherever they
/// matter for the average (entries of U up to about 1e3); otherwise InputError. The reported error is 1e-5 of
/// the risk or less; the true error is usually 1e-9. The report adds up two kinds of terms: the changes when
/// the rules over ξ and over s² use only every other node (the step of the latter is halved until its change
/// is 1e-7), and the errors on the contours, of the table and of rounding. It is not a strict bound: neither
/// rule would see features narrower than the steps. Cost: 0.15 s for d = 5 on one core, 0.5 s with its
/// gradient (docs/icl.md), ten times that at L = 1e300; the first time at a length, also a SoftmaxTable.
Estimate exact_risk(const RegressionProblem& problem, const LengthLaw& L,
                    const RegressionParameters& parameters, const Execution& execution = {});

/// exact_risk() by rules that take a third to a tenth of the work. Its error is up to 1e-5 of the risk and is
/// reported in the same way. Meant for large numbers of risks.
Estimate rough_risk(const RegressionProblem& problem, const LengthLaw& L,
                    const RegressionParameters& parameters, const Execution& execution);

/// The risk together with its gradient in (U, v), in the layout of to_vector(), and the error of the gradient
/// in the Euclidean norm, by the same rules. If U_21 is small compared with U_11, the part of the gradient
/// along it loses digits in proportion; the reported error includes this.
struct RiskAndGradient {
  Estimate risk;
  Vector gradient;
  double gradient_error = 0;
};
RiskAndGradient exact_risk_and_gradient(const RegressionProblem& problem, const LengthLaw& L,
                                        const RegressionParameters& parameters,
                                        const Execution& execution = {});

}  // namespace largo
