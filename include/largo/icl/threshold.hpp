// L(ε): the smallest prompt length at which training ends within ε of the risk of the infinite prompt.
#pragma once

#include <functional>
#include <vector>

#include "largo/icl/regression_flow.hpp"

namespace largo {

/// The largest length tried. Beyond it training follows a valley whose gradient cannot be told from rounding.
inline constexpr double kLongestThreshold = 1e11;

struct ThresholdPlan {
  AttentionKind attention = AttentionKind::softmax;
  FlowPlan flow = {.relative_tolerance = 1e-7};             ///< for the training at each length; no end
  std::function<void(double L, double risk)> trained = {};  ///< called after each length
};

struct TrainedRisk {
  double L = 1;
  double risk = 0;
};

struct Threshold {
  double L = 1;                    ///< a whole number
  double risk = 0;                 ///< lim R_L at this L
  double limit = 0;                ///< lim R_∞
  TrainedRisk before;              ///< at L - 1, or at L (1 - 1e-9) if that is less; its L is 0 if L is 1
  std::vector<TrainedRisk> tried;  ///< in the order in which they were tried
};

/// Trains by regression_flow() from `start` to its end. It works in units in which tokens, queries, tasks,
/// scores and risks are of size one, so the answer does not depend on the units of the data. It assumes that
/// the trained risk falls with L: it brackets the length, narrows the bracket by the secant of the logarithm,
/// and trains both L and L - 1. Domain: ε > 0, reached by a prompt of at most kLongestThreshold tokens;
/// otherwise InputError, as for a training that is flat with more than 1e-4 of ε unfinished (RegressionFlow).
/// L is exact below 1e9 (for ε times 1 + 1e-13, which settles ties) and accurate to 1e-9 beyond; if something
/// is unfinished, to that share of ε. Cost: about ten trainings.
Threshold threshold(const RegressionProblem& problem, double epsilon, const InvariantPoint& start,
                    const ThresholdPlan& plan = {}, const Execution& execution = {});

}  // namespace largo
