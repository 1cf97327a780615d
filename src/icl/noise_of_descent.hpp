// The noise of a descent around the flow at its length: as its records show it, and as the flow's end
// predicts it.
#pragma once

#include <optional>

#include "largo/icl/regression_training.hpp"

namespace largo {

DescentNoise measured_noise(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& flow,
                            const Execution& execution);

/// None where the sizes of steps differ, where they are so long that the flow's end repels them, and for more
/// than 512 parameters.
std::optional<DescentNoise> predicted_noise(const TrainingPlan& plan, const TrainingRun& run,
                                            const TrainingRun& flow, const Execution& execution);

}  // namespace largo
