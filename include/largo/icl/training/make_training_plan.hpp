// Makes a plan of training from what a caller asks for. The defaults, limits and rules of a plan are here, so
// that the command line, Python and the claims share them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "largo/icl/invariant_set.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/training/training_plan.hpp"

namespace largo {

inline constexpr std::int64_t kDefaultSteps = 20000;
inline constexpr double kDefaultStepSize = 0.01;
inline constexpr std::int64_t kDefaultBatch = kPublishedBatch;
/// The time at which flows off the invariant set end if none is given: they need not become stationary.
inline constexpr double kDefaultTime = 1000;
inline constexpr std::int64_t kDescentRecords = 100;
/// Bounds of the relative tolerance for the steps of a flow.
inline constexpr double kLeastTolerance = 1e-13, kLargestTolerance = 1e-2;

/// What a caller asks for. Fields that are left empty take their defaults. The published experiment has
/// defaults of its own.
struct TrainingRequest {
  RegressionProblem problem;
  /// In place of `problem`. If it is the same as a Gaussian regression, that one is trained, exactly.
  std::optional<InContextProblem> other = {};
  std::optional<std::int64_t> prompts = {};  ///< for `other`: see TrainingPlan; default: 4096
  /// PromptSampling::always trains flows on a fixed set of prompts, drawn once.
  PromptSampling sampling = PromptSampling::where_needed;
  bool published = false;  ///< use the defaults of the published experiment
  std::vector<TrainingMethod> methods = {TrainingMethod::flow};
  std::vector<AttentionKind> attention = {};  ///< default: softmax; published: both
  std::vector<LengthLaw> lengths = {};        ///< default: 10, 100, 1000, ∞; published: published_lengths()
  std::vector<LengthLaw> evaluate = {};       ///< as in TrainingPlan
  std::optional<Parametrisation> parameters;  ///< default: invariant; published: factored
  std::optional<InvariantPoint> start;  ///< default: half of the largest admissible α; factored: random
  std::optional<RegressionParameters> head = {};  ///< any other start, for merged parameters
  std::optional<double> time;  ///< default: that of the descents beside it, or until stationary
  /// Default: 1e-9; 1e-4 for softmax off the invariant set, 1e-6 for `other`.
  std::optional<double> tolerance;
  std::int64_t nodes = TrainingPlan().nodes.count;
  std::uint64_t seed = 1;

  // For stochastic descents only, except that steps, their size and their schedule also set the end of a
  // published flow.
  std::optional<std::int64_t> steps;
  std::optional<double> step_size;
  std::optional<std::int64_t> batch;
  std::optional<Optimizer> optimizer;
  std::optional<Schedule> schedule;
  std::optional<PromptKernel> kernel;
  std::int64_t seeds = 1;
  std::filesystem::path checkpoints = {};
  bool quick = false;  ///< a hundredth of the steps, unless they are given

  /// For messages: the name of the function called, and the prefix of its options ("--", or nothing).
  std::string function = "make_training_plan", prefix = {};
};

struct PlannedTraining {
  TrainingPlan plan;
  std::vector<std::string> warnings;  ///< about things that the caller may not expect
};

/// InputError for requests that cannot be met, and for options of descents if there are none.
PlannedTraining make_training_plan(const TrainingRequest& request);

/// The cost of a plan, from measurements on one machine; within about a factor of two, but for flows over
/// draws, whose number of evaluations is only guessed.
struct TrainingCost {
  std::int64_t flows = 0, descents = 0;
  double seconds = 0;    ///< on one core
  double megabytes = 0;  ///< for one process
};
TrainingCost estimate_cost(const TrainingPlan& plan, int threads);

/// The regression with the second moments of a task's tokens (x, y), averaged over some draws: its start is
/// the default start of the task. InputError if tokens and queries differ in size.
RegressionProblem moments_of(const InContextProblem& problem);

/// Warnings about a start outside the range of the paper's theorem.
std::vector<std::string> start_warnings(const RegressionProblem& problem, const InvariantPoint& start);

}  // namespace largo
