// The runs of a training plan: which there are, what they cost, and which process makes them.
#pragma once

#include <vector>

#include "largo/icl/training/training_plan.hpp"

namespace largo {

struct TrainingJob {
  TrainingMethod method;
  AttentionKind attention;
  double L;
  std::size_t seed;  ///< its number
};

/// On the invariant set no seed decides anything of a flow.
bool flows_have_seeds(const TrainingPlan& plan);

/// One for each run, in the order of train().
std::vector<TrainingJob> jobs_of(const TrainingPlan& plan);

/// Of a step of a descent, in tokens of each of its prompts; a flow's is none of these.
double cost_of(const TrainingJob& job);

/// Longest prompts first, and flows before descents: cores are then idle least at the end.
std::vector<std::size_t> order_of(const std::vector<TrainingJob>& jobs);

/// The process that makes each run, so that flows and descents are spread evenly, each by themselves: what a
/// flow costs beside a descent is another matter on every device.
std::vector<int> owners_of(const std::vector<TrainingJob>& jobs, const Execution& execution);

}  // namespace largo
