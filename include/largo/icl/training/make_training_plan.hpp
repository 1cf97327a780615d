// A plan of training from what a caller asks for. The defaults, limits and rules of a plan are here, for the
// command line, Python and the claims alike.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "largo/icl/invariant_set.hpp"
#include "largo/icl/published_experiment.hpp"
#include "largo/icl/training/training_plan.hpp"

namespace largo {

inline constexpr std::int64_t kDefaultSteps = 20000;
inline constexpr double kDefaultStepSize = 0.01;
inline constexpr std::int64_t kDefaultBatch = kPublishedBatch;
/// Where flows off the invariant set end unless a time is given: they need not become stationary.
inline constexpr double kDefaultTime = 1000;
inline constexpr std::int64_t kDescentRecords = 100;
/// Bounds of the relative tolerance of a flow's steps.
inline constexpr double kLeastTolerance = 1e-13, kLargestTolerance = 1e-2;

/// What a caller asks for. Fields that are left empty take their defaults; those of the published experiment
/// differ.
struct TrainingRequest {
  RegressionProblem problem;
  bool published = false;  ///< take the defaults of the published experiment
  std::vector<TrainingMethod> methods = {TrainingMethod::flow};
  std::vector<AttentionKind> attention = {};  ///< softmax; published: both
  std::vector<double> lengths = {};           ///< 10, 100, 1000, ∞; published: published_lengths()
  std::optional<Parametrisation> parameters;  ///< invariant; published: factored
  std::optional<InvariantPoint> start;  ///< half of the largest admissible α; factored: none, it is random
  std::optional<double> time;           ///< as long as the descents beside it, or until stationary
  std::optional<double> tolerance;      ///< 1e-9; 1e-4 for softmax attention off the invariant set
  std::int64_t nodes = TrainingPlan().nodes.count;
  std::uint64_t seed = 1;

  // Of stochastic descents alone; steps, their size and their schedule also say how far a published flow
  // goes.
  std::optional<std::int64_t> steps;
  std::optional<double> step_size;
  std::optional<std::int64_t> batch;
  std::optional<Optimizer> optimizer;
  std::optional<Schedule> schedule;
  std::optional<PromptKernel> kernel;
  std::int64_t seeds = 1;
  std::filesystem::path checkpoints = {};
  bool quick = false;  ///< a hundredth of the steps, unless they are given

  /// For messages: what the caller calls the function, and what its options begin with ("--", or nothing).
  std::string function = "make_training_plan", prefix = {};
};

struct PlannedTraining {
  TrainingPlan plan;
  std::vector<std::string> warnings;  ///< what the caller may not expect
};

/// InputError for what cannot be, and for options of descents where there are none.
PlannedTraining make_training_plan(const TrainingRequest& request);

/// What a plan takes, by what was measured on one machine: within some factor of two.
struct TrainingCost {
  std::int64_t flows = 0, descents = 0;
  double seconds = 0;    ///< on one core
  double megabytes = 0;  ///< of one process
};
TrainingCost estimate_cost(const TrainingPlan& plan, int threads);

/// Warnings about a start outside the range of the paper's theorem.
std::vector<std::string> start_warnings(const RegressionProblem& problem, const InvariantPoint& start);

}  // namespace largo
