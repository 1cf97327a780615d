// What the options of largo icl train mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "icl_options.hpp"
#include "icl_start.hpp"
#include "largo/icl/published_experiment.hpp"
#include "largo/icl/training/training_plan.hpp"

namespace largo {

inline constexpr std::int64_t kTrainRecords = 100;  ///< of a descent

struct TrainOptions : ProblemOptions {
  std::string L, method = "flow", attention;
  StartOptions start;
  std::string parameters;
  std::optional<double> time;
  std::optional<double> tolerance;
  std::optional<std::int64_t> steps;
  std::optional<double> step_size;
  std::int64_t seeds = 1;
  std::int64_t batch = kPublishedBatch, nodes = TrainingPlan().nodes.count;
  std::string optimizer = "plain", schedule = "constant", kernel = "collapsed";
  std::string csv, plot, checkpoints;
  bool quick = false, dry_run = false;
};

bool has(const TrainingPlan& plan, TrainingMethod method);

/// InputError for options that contradict each other; adds what is worth a warning.
TrainingPlan read_plan(const TrainOptions& options, std::vector<std::string>& warnings);

}  // namespace largo
