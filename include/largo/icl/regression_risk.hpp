// The risk R_L of in-context regression at any parameters and any length, by the best method there is.
#pragma once

#include "largo/attention/attention_kind.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// U_21 = 0 and v_x = 0: the labels reach neither the scores of a query nor, but by b, its prediction.
bool is_invariant(const RegressionParameters& parameters);

/// Up to this dimension risks off the invariant set are those of exact_risk.hpp, where they take some
/// seconds.
inline constexpr Eigen::Index kMostExactDimension = 32;

/// R_L at (U, v): exact on the invariant set, and elsewhere up to 32 dimensions (exact_risk.hpp). Beyond, of
/// softmax attention an average over `nodes` tasks with an error of 5.4 standard errors: Student's t for its
/// eight parts is larger in one case of a thousand.
Estimate regression_risk(const RegressionProblem& problem, AttentionKind attention, double L,
                         const RegressionParameters& parameters, const TaskNodes& nodes = {.count = 65536},
                         const Execution& execution = {});

}  // namespace largo
