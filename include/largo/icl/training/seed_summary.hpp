// Runs with several seeds, summarised for each length and kind of attention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "largo/icl/training/training_plan.hpp"

namespace largo {

/// Statistics over seeds of one number. A single seed has no deviation.
struct OverSeeds {
  double mean = 0;
  std::optional<double> deviation;  ///< standard deviation, with n - 1
  std::optional<double> error;      ///< standard error of the mean
};

OverSeeds over_seeds(const std::vector<double>& values);

struct SeedSummary {
  LengthLaw L = 1;
  AttentionKind attention = AttentionKind::softmax;
  std::int64_t count = 0;                  ///< number of descents; 0 if only the flow was run
  std::optional<OverSeeds> final_risk;     ///< risk of the descents
  std::optional<double> flow_risk;         ///< mean risk of the flows
  std::optional<OverSeeds> excess;         ///< risk above the flow's, in the last fifth of the time
  std::optional<double> predicted_excess;  ///< the mean of what the flows predict
  std::string no_prediction;               ///< why the first seed without a prediction has none
};

/// One summary for each length and kind of attention, in the order of the runs.
std::vector<SeedSummary> summarise_seeds(const std::vector<TrainingRun>& runs);

}  // namespace largo
