// How far two training runs are apart.
#pragma once

#include "largo/icl/training/training_plan.hpp"

namespace largo {

/// Up to where the shorter of two paths ends, or where it is stationary and stays. Looked at at the steps of
/// both.
PathDistance path_distance(const RegressionProblem& problem, const TrainingRun& one, const TrainingRun& two);

}  // namespace largo
