// The risk R_L of in-context regression at any parameters and any length, by the best method available.
#pragma once

#include "largo/attention/attention_kind.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// Whether U_21 = 0 and v_x = 0: then labels do not affect the scores of a query, and its prediction only
/// through b.
bool is_invariant(const RegressionParameters& parameters);

/// The largest dimension in which risks off the invariant set are computed by exact_risk.hpp; there they take
/// some seconds.
inline constexpr Eigen::Index kMostExactDimension = 32;

/// R_L at (U, v). It is exact on the invariant set, and elsewhere up to 32 dimensions (exact_risk.hpp). In
/// more dimensions, softmax attention is averaged over `nodes` tasks, with an error of 5.4 standard errors:
/// Student's t for its eight parts is larger in one case of a thousand.
Estimate regression_risk(const RegressionProblem& problem, AttentionKind attention, const LengthLaw& L,
                         const RegressionParameters& parameters, const TaskNodes& nodes = {.count = 65536},
                         const Execution& execution = {});

}  // namespace largo
