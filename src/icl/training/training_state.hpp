// The runs of a plan while they are being made.
#pragma once

#include <cstddef>
#include <vector>

#include "icl/training/descent_engine.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/execution.hpp"

namespace largo::icl {

struct TrainingState {
  TrainingMethod method = TrainingMethod::flow;
  AttentionKind attention = AttentionKind::softmax;
  LengthLaw L = 1;
  std::size_t seed = 0;            ///< number of its seed among those of the plan
  RegressionDescent descent = {};  ///< for the method descent
  double cost_of_flow = 0;         ///< for the method flow
};

/// Sets the length of the prompts, or its law.
void set_length(RegressionBatches& batches, const LengthLaw& L);

/// Whether the seed matters to flows: on the invariant set it does not.
bool flows_have_seeds(const TrainingPlan& plan);

/// One state for each run, in the order of train(), before its first step.
std::vector<TrainingState> states_of(const TrainingPlan& plan);

/// The cost of a flow over draws, relative to that of a step; zero for regression and its exact risks.
double cost_of_flow(const TrainingPlan& plan, const LengthLaw& L);

/// The cost of a step (see cost_of(RegressionBatches)), or of a flow.
double cost_of(const TrainingState& state);

/// Flows come before descents, and the longest prompts first, so that cores are idle least at the end.
std::vector<std::size_t> order_of(const std::vector<TrainingState>& states);

/// The process that makes each run. Flows and descents are spread evenly, each by themselves: the cost of a
/// flow relative to a descent is different on every device.
std::vector<int> owners_of(const std::vector<TrainingState>& states, const Execution& execution);

}  // namespace largo::icl
