// The noise of a descent around the flow at its length: as its records show it, and as the flow predicts it.
#pragma once

#include <optional>
#include <string>

#include "largo/icl/training/training_plan.hpp"

namespace largo {

/// Mean and deviation over the records of the last fifth of one run, against the flow. Their error is not
/// estimated: records are correlated over the time in which steps forget, and one run sees few rare batches.
DescentNoise measured_noise(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& flow,
                            const Execution& execution);

struct NoisePrediction {
  std::optional<DescentNoise> noise;
  std::string reason;  ///< why there is none
};

/// Of descent_noise() where the flow is at the end of the run's time. There is none where the sizes of steps
/// differ, where the flow is shorter, has not come to rest or repels steps of that size, and for more than
/// 512 parameters.
NoisePrediction predicted_noise(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& flow,
                                const Execution& execution);

}  // namespace largo
