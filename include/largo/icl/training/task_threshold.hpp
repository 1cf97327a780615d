// L(ε) for any in-context problem: the smallest prompt length whose trained risk is within ε of that of the
// infinite prompt, with a confidence interval. (For Gaussian regression, threshold.hpp has it exactly.)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "largo/icl/training/training_plan.hpp"

namespace largo {

/// Training at one length: means over sets of draws, and their standard errors.
struct TrainedExcess {
  double L = 0;
  Estimate risk;    ///< after training
  Estimate excess;  ///< above that of the infinite prompt
};

struct TaskThreshold {
  double epsilon = 0;
  double L = 0;  ///< the smallest length at which the mean excess was found to be at most ε
  /// Lengths between which L(ε) lies with a confidence of 95 %: at `lower` the excess is above ε, at `upper`
  /// below, each by Student's t. `lower` is 0 if a prompt of one token may be enough.
  double lower = 0, upper = 0;
  Estimate risk, limit;  ///< trained risks at L and for the infinite prompt
  std::vector<TrainedExcess> tried;
  PromptAverage average = PromptAverage::sampled;  ///< how averages over finite prompts are known
};

/// Longest prompts that are tried: where averages over prompts are exact, and where prompts are drawn.
inline constexpr double kLongestExactTry = 1e12, kLongestSampledTry = 1e5;
inline constexpr std::int64_t kThresholdSets = 4;

/// Trains `plan` (with `other`; flows to its end; the lengths and methods in it are not read) at lengths that
/// close in on L(ε), each on kThresholdSets independent sets of draws. The same set serves all lengths, and
/// risks are those of fresh draws, so that excesses are differences of like with like, and their standard
/// errors over the sets include both the draws of training and those of testing. What they do not include: a
/// head that is trained on few draws is worse than the flow on the risk itself, more so at short lengths, so
/// L comes out too long (by a tenth with 60 draws in two dimensions; take more draws and compare). The level
/// of the interval is that of each comparison, not of the search as a whole. The search stops when the
/// lengths next to each other differ by 2 %, or when the noise hides the difference. InputError if ε is not
/// reached by the longest prompt that is tried. Cost: one flow for each set and length tried. Throws Stopped.
TaskThreshold task_threshold(const TrainingPlan& plan, AttentionKind attention, double epsilon,
                             const std::function<void(const TrainedExcess& tried)>& trained = {},
                             const Execution& execution = {});

}  // namespace largo
