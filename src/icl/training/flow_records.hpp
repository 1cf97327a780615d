// What is known of the risk along the path of a flow, and at its end.
#pragma once

#include "largo/icl/training/training_plan.hpp"

namespace largo {

/// Fills in final_risk and record_error of a flow, and where the flow was over nodes the risks and gradients
/// of its records: see TrainingRun.
void look_at_records(const TrainingPlan& plan, TrainingRun& run, const Execution& execution);

}  // namespace largo
