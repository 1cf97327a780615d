// How far two training runs are apart.
#pragma once

#include "largo/icl/regression_training.hpp"

namespace largo {

/// U_21 = 0 and v_x = 0: the labels reach neither the scores of a query nor, but by b, its prediction.
bool is_invariant(const RegressionParameters& parameters);

/// Up to where the shorter of two paths ends, or where it is stationary and stays. Looked at at the steps of
/// both.
PathDistance path_distance(const RegressionProblem& problem, const TrainingRun& one, const TrainingRun& two);

}  // namespace largo
