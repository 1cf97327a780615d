// The risk of one softmax (or linear) attention head on any task, with any loss:
//
//   R_L(U, v) = E ℓ(o, y),   o = <v, mean(ν_a)>,   a = scale · U z_q,
//
// where ν_a is the tilted prompt (attention.hpp: o is attention with the one-row value matrix vᵀ). A finite
// prompt is an empirical measure, the limit L = ∞ is the law of the tokens, and both go through the same
// code. The expectation over tasks, prompts and queries is an average over draws.
//
// The parameters are U (token x query dimension, column by column), then v, in one vector. For regression
// this is the layout of to_vector in regression_problem.hpp.
//
// Common random numbers: draw number i has the same task, query and target for every length, and the tokens
// of a shorter prompt are the first ones of a longer one. Differences between lengths are thus far less noisy
// than the risks themselves.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "largo/attention/attention.hpp"
#include "largo/icl/prompt_task.hpp"
#include "largo/training/risk.hpp"

namespace largo {

struct PromptSetting {
  PromptTaskPtr task;
  LossPtr loss;
  double length = std::numeric_limits<double>::infinity();  ///< L: an integer >= 1, or ∞
  AttentionKind attention = AttentionKind::softmax;
  double score_scale = 1;
  std::uint64_t seed = 1;
};

/// Draw number `index` (from 0). Its `tokens` are the prompt of L tokens as an EmpiricalMeasure, or the law
/// if L = ∞. It depends only on the setting's task, length and seed, and on the index. InputError if the task
/// draws something of another dimension or something that is not finite.
PromptDraw draw_prompt(const PromptSetting& setting, std::int64_t index);

/// The largest prompt, in numbers (L times the dimension of the tokens). A prompt is held in memory as a
/// whole.
inline constexpr double kLargestPrompt = 536870912;  // 2^29, 4 GiB

/// Bytes that a PromptRisk may hold between evaluations.
inline constexpr std::int64_t kHeldBytes = std::int64_t{1} << 28;  // 256 MiB

/// The average over draws 0, 1, ..., n - 1, the same for all parameters. It is a smooth function of them with
/// an exact gradient. The reported error is the standard error over draws, as an estimate of R_L; it covers
/// only the noise of the tasks, prompts and queries drawn. If rare draws carry the risk (large scores: pairs
/// of task and query with a spread near √(2 ln L); losses with long tails), a few draws make up both value
/// and error, and a sample without them has too low a value and too small an error. No warning is possible,
/// since the laws of a task are not known well enough here: double the prompts and compare. Domain: n >= 2; L
/// as in PromptSetting, within kLargestPrompt; otherwise InputError. Memory: prompts are drawn once and held
/// if they fit into `held_bytes`; otherwise they are drawn again in each evaluation, one per thread. The
/// results are bit-identical either way, and for any Execution. Up to 32 MiB more are used. Cost: a
/// vector-Jacobian product of attention for each draw: about 0.1 µs a token (d = 5, L >= 1000) and 5 µs a
/// prompt, 1.5 µs if L = ∞; drawing the prompts again costs as much once more.
class PromptRisk final : public Risk {
 public:
  PromptRisk(PromptSetting setting, std::int64_t prompts, const Execution& execution = {},
             std::int64_t held_bytes = kHeldBytes);

  Eigen::Index size() const override;
  RiskPoint at(const ConstVectorRef& parameters) const override;
  std::int64_t prompts() const { return prompts_; }
  bool holds_prompts() const { return !held_.empty(); }

 private:
  PromptSetting setting_;
  std::int64_t prompts_;
  Execution execution_;
  std::vector<PromptDraw> held_;
};

/// Fresh draws for each batch: batch k has the draws k n, ..., k n + n - 1. These are the draws of a
/// PromptRisk with the same seed, so use different seeds to keep training and testing apart. Domain, bits and
/// cost are as above, with n >= 1; the error of a batch of one draw is infinite.
class PromptBatches final : public StochasticRisk {
 public:
  PromptBatches(PromptSetting setting, std::int64_t batch_size, const Execution& execution = {});

  Eigen::Index size() const override;
  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override;

 private:
  PromptSetting setting_;
  std::int64_t batch_size_;
  Execution execution_;
};

}  // namespace largo
