// Runs with several seeds, summed up for each length and kind of attention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "largo/icl/training/training_plan.hpp"
#include "output.hpp"

namespace largo {

/// Of a number that every seed has: one seed has no deviation.
struct OverSeeds {
  double mean = 0;
  std::optional<double> deviation;  ///< standard, with n - 1
  std::optional<double> error;      ///< of the mean, standard
};

OverSeeds over_seeds(const std::vector<double>& values);

struct SeedSummary {
  double L = 1;
  AttentionKind attention = AttentionKind::softmax;
  std::int64_t count = 0;                  ///< of descents; none where the flow is alone
  std::optional<OverSeeds> final_risk;     ///< of descents
  std::optional<double> flow_risk;         ///< of the flows beside them, the mean
  std::optional<OverSeeds> excess;         ///< over the flow's risk, in the last fifth of the time
  std::optional<double> predicted_excess;  ///< the mean of what the flows predict
  std::string no_prediction;               ///< why there is none; that of the first seed without
};

/// In the order of the runs.
std::vector<SeedSummary> summarise_seeds(const std::vector<TrainingRun>& runs);

Json to_json(const SeedSummary& summary);

/// A line for each, below a head, and why predictions are missing.
void print_table(const std::vector<SeedSummary>& summaries, double null_risk);

}  // namespace largo
