// The risk of softmax attention as an average over nodes, also where L = ∞ and it would be a polynomial.
#pragma once

#include <memory>

#include "largo/icl/regression_risks.hpp"
#include "largo/numerics/estimate.hpp"

namespace largo {

/// As general_risk() for softmax attention, but over the nodes for every L: differences between lengths then
/// have no error of the nodes in what they share.
std::shared_ptr<const Risk> softmax_risk_over_nodes(const RegressionProblem& problem, double L,
                                                    const TaskNodes& nodes, const Execution& execution);

/// R_L(U, v) of softmax attention: exact_risk() up to kMostExactDimension, where it takes some seconds.
/// Beyond, over nodes: R_∞, which is exact, and the average of R_L - R_∞; or the average of R_L where that
/// has the smaller error (large scores, for which R_∞ is far above R_L). Errors as those of general_risk().
inline constexpr Eigen::Index kMostExactDimension = 32;
Estimate softmax_risk_estimate(const RegressionProblem& problem, double L, const RegressionParameters& given,
                               const TaskNodes& nodes, const Execution& execution);

/// exact_risk() by rules that are a third to a tenth of the work: its error is up to 1e-5 of the risk, and
/// reported alike. For risks in great numbers.
Estimate rough_risk(const RegressionProblem& problem, double L, const RegressionParameters& parameters,
                    const Execution& execution);

}  // namespace largo
