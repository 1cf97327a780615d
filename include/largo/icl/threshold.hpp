// L(ε): the smallest prompt length at which training ends within ε of the infinite prompt.
#pragma once

#include <functional>
#include <vector>

#include "largo/icl/regression_flow.hpp"

namespace largo {

struct ThresholdPlan {
  AttentionKind attention = AttentionKind::softmax;
  FlowPlan flow = {.relative_tolerance = 1e-7};             ///< of the training at each length
  std::function<void(double L, double risk)> trained = {};  ///< after each length
};

struct TrainedRisk {
  double L = 1;
  double risk = 0;
};

struct Threshold {
  double L = 1;        ///< whole below 2^53
  double risk = 0;     ///< lim R_L there
  double limit = 0;    ///< lim R_∞
  TrainedRisk before;  ///< training at L - 1 (the last tried where that is no other number); L = 0: L is 1
  std::vector<TrainedRisk> tried;  ///< in the order of trying
};

/// Training is regression_flow() from `start`, to its end. The trained risk is taken to fall with L: lengths
/// are bracketed, then closed in on by the secant of the logarithm, and both L and L - 1 are trained. Domain:
/// ε > 0, and reached by a prompt of at most 1e15 tokens; otherwise InputError. Cost: some ten trainings.
Threshold threshold(const RegressionProblem& problem, double epsilon, const InvariantPoint& start,
                    const ThresholdPlan& plan = {}, const Execution& execution = {});

}  // namespace largo
