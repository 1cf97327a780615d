// What the options of largo icl train mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "icl_options.hpp"
#include "icl_start.hpp"
#include "largo/icl/training/make_training_plan.hpp"

namespace largo {

struct TrainOptions : ProblemOptions {
  std::string L, method = "flow", attention;
  StartOptions start;
  std::string parameters;
  std::optional<double> time, tolerance, step_size;
  std::optional<std::int64_t> steps, batch;
  std::optional<std::string> optimizer, schedule, kernel;
  std::int64_t seeds = 1, nodes = TrainingPlan().nodes.count;
  std::string csv, plot, checkpoints;
  bool quick = false, dry_run = false;
};

/// InputError for options that contradict each other.
PlannedTraining read_plan(const TrainOptions& options);

}  // namespace largo
