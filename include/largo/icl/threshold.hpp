// L(ε): the smallest prompt length at which training ends within ε of the infinite prompt.
#pragma once

#include <functional>
#include <vector>

#include "largo/icl/regression_flow.hpp"

namespace largo {

/// Longer prompts train along a valley too flat to be followed: its gradient cannot be told from rounding.
inline constexpr double kLongestThreshold = 1e11;

struct ThresholdPlan {
  AttentionKind attention = AttentionKind::softmax;
  FlowPlan flow = {.relative_tolerance = 1e-7};             ///< of the training at each length; no end
  std::function<void(double L, double risk)> trained = {};  ///< after each length
};

struct TrainedRisk {
  double L = 1;
  double risk = 0;
};

struct Threshold {
  double L = 1;        ///< whole
  double risk = 0;     ///< lim R_L there
  double limit = 0;    ///< lim R_∞
  TrainedRisk before;  ///< training at L - 1, or at 1 - 1e-9 of L where that is less; its L is 0 where L is 1
  std::vector<TrainedRisk> tried;  ///< in the order of trying
};

/// Training is regression_flow() from `start`, to its end, in units of tokens, queries, tasks, scores and
/// risks in which they are of size one: the answer does not depend on the units of the data. The trained risk
/// is taken to fall with L: lengths are bracketed, then closed in on by the secant of the logarithm, and both
/// L and L - 1 are trained. Domain: ε > 0, and reached by a prompt of at most kLongestThreshold tokens;
/// otherwise, and where a training is flat with more than 1e-4 of ε unfinished (RegressionFlow),
/// InputError. L is exact below 1e9 (for ε times 1 + 1e-13, which settles ties), to 1e-9 beyond; where
/// something is unfinished, to that share of ε. Cost: some ten trainings.
Threshold threshold(const RegressionProblem& problem, double epsilon, const InvariantPoint& start,
                    const ThresholdPlan& plan = {}, const Execution& execution = {});

}  // namespace largo
