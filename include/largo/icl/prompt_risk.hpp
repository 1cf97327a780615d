// The risk of one softmax (or linear) attention head on any task, with any loss:
//
//   R_L(U, v) = E ℓ(o, y),   o = <v, mean(ν_a)>,   a = scale · U z_q,
//
// ν_a the tilted prompt (attention.hpp: o is attention with the one-row value matrix vᵀ); a finite prompt is
// an empirical measure, the limit L = ∞ the law of the tokens, and both go through the same code. The
// expectation over tasks, prompts and queries is an average over draws.
//
// Parameters: U (token x query dimension, column by column), then v, in one vector; for regression the layout
// of to_vector in regression_problem.hpp.
//
// Common random numbers: draw number i has the same task, query and target for every length, and the tokens
// of a shorter prompt are the first ones of a longer one. Differences between lengths are thus far less noisy
// than the risks themselves.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "largo/attention/attention.hpp"
#include "largo/icl/loss.hpp"
#include "largo/icl/prompt_task.hpp"
#include "largo/training/risk.hpp"

namespace largo {

struct PromptSetting {
  PromptTaskPtr task;
  LossPtr loss;
  double length = std::numeric_limits<double>::infinity();  ///< L: an integer >= 1, or ∞
  AttentionKind kind = AttentionKind::softmax;
  double score_scale = 1;
  std::uint64_t seed = 1;
};

/// Draw number `index` (from 0): its `tokens` are the prompt of L tokens as an EmpiricalMeasure, or the law
/// where L = ∞. A function of the setting's task, length and seed, and of the index. InputError where the
/// task draws something of another dimension or not finite.
PromptDraw draw_prompt(const PromptSetting& setting, std::int64_t index);

/// The largest prompt, in numbers (L times the dimension of the tokens): it is held in memory as a whole.
inline constexpr double kLargestPrompt = 536870912;  // 2^29, 4 GiB

/// What a PromptRisk may hold between evaluations.
inline constexpr std::int64_t kHeldBytes = std::int64_t{1} << 28;  // 256 MiB

/// The average over draws 0, 1, ..., n - 1, the same for all parameters: a smooth function of them, whose
/// gradient is exact. The reported error is the standard error over draws, as an estimate of R_L. It covers
/// the noise of tasks, prompts and queries drawn, and no more: where rare ones carry the risk (large scores:
/// pairs of task and query with a spread near √(2 ln L); losses with long tails) a few draws make up both
/// value and error, and draws that saw none are too low with too small an error. Nothing here knows the laws
/// of a task well enough to warn: double the draws and compare. Domain: n >= 2; L as in PromptSetting, within
/// kLargestPrompt. Otherwise InputError. Memory: prompts are drawn once and held where they fit into
/// `held_bytes`, otherwise drawn again in each evaluation, one a thread; the results are the same bits, as
/// for any Execution. Beside them, up to 32 MiB. Cost: a vector-Jacobian product of attention for each draw:
/// some 0.1 µs a token (d = 5, L >= 1000) and 5 µs a prompt, 1.5 µs where L = ∞; drawing the prompts again,
/// as much once more.
class PromptRisk final : public Risk {
 public:
  PromptRisk(PromptSetting setting, std::int64_t draws, const Execution& execution = {},
             std::int64_t held_bytes = kHeldBytes);

  Eigen::Index size() const override;
  RiskPoint at(const ConstVectorRef& parameters) const override;
  std::int64_t draws() const { return draws_; }
  bool holds_prompts() const { return !held_.empty(); }

 private:
  PromptSetting setting_;
  std::int64_t draws_;
  Execution execution_;
  std::vector<PromptDraw> held_;
};

/// Fresh draws for each batch: number k has the draws k n, ..., k n + n - 1. They are those of a PromptRisk
/// under the same seed: give the two different ones to keep training and testing apart. Domain, bits and
/// cost as above, with n >= 1; the error of a batch of one is infinite.
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
