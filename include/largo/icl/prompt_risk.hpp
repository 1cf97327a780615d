// The risk of one softmax (or linear) attention head on any task, with any loss:
//
//   R_L(U, V) = E ℓ(o, y),   o = V mean(ν_a),   a = scale · U z_q,
//
// where ν_a is the tilted prompt (attention.hpp). A finite prompt is an empirical measure, and the limit L =
// ∞ is the law of the tokens. The expectation over tasks and queries is an average over draws. The
// expectation over the prompt is one of three, and each draw uses the best that is known for it:
//
//   exact     nothing is drawn: the tokens of the task are Gaussian and the loss is quadratic (theory of
//             exact statistics, docs/icl.md), for softmax attention; for linear attention they are also
//             centred
//   limit     L = ∞: the tilt of the law
//   sampled   a prompt of L tokens is drawn
//
// The parameters are U (token x query dimension, column by column), then V (output x token dimension, row by
// row), in one vector. For regression this is the layout of to_vector in regression_problem.hpp.
//
// Common random numbers: draw number i has the same task, query and target for every length, and the tokens
// of a shorter prompt are the first ones of a longer one. Differences between lengths are thus far less noisy
// than the risks themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "largo/icl/prompt_setting.hpp"
#include "largo/numerics/estimate.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/training/risk.hpp"

namespace largo {

/// Bytes that a PromptRisk may hold between evaluations.
inline constexpr std::int64_t kHeldBytes = std::int64_t{1} << 30;  // 1 GiB

/// The average over draws 0, 1, ..., n - 1, the same for all parameters. It is a smooth function of them (if
/// the loss is) with an exact gradient. The reported error is the standard error over draws, as an estimate
/// of R_L; it covers only the noise of the tasks, prompts and queries drawn. If rare draws carry the risk
/// (large scores: pairs of task and query with a spread near √(2 ln L); losses with long tails), a few draws
/// make up both value and error, and a sample without them has too low a value and too small an error. No
/// warning is possible, since the laws of a task are not known well enough here: double the prompts and
/// compare. Domain: n >= 2; L any length from 1 where averages are exact, else a whole number within
/// kLargestPrompt; otherwise InputError. Memory: prompts are drawn once and held if they fit into
/// `held_bytes`; otherwise they are drawn again in each evaluation, a chunk at a time. The results are
/// bit-identical either way, and for any Execution. Up to 64 MiB more are used. Cost: one tilt, or one pass
/// over the prompt, for each draw.
class PromptRisk final : public Risk {
 public:
  PromptRisk(PromptSetting setting, std::int64_t prompts, const Execution& execution = {},
             std::int64_t held_bytes = kHeldBytes);

  Eigen::Index size() const override;
  RiskPoint at(const ConstVectorRef& parameters) const override;
  /// The outputs of the head for each draw, n x m; averages over prompts where they are exact.
  RowMatrix outputs(const ConstVectorRef& parameters) const;
  std::int64_t prompts() const { return prompts_; }
  bool holds_prompts() const { return held_ != nullptr; }
  /// How averages over prompts are known; `sampled` if prompts of some draws are sampled. Where prompts are
  /// not held, this is known of the first draw, and of all after an evaluation.
  PromptAverage average() const { return average_; }

 private:
  struct Held;
  PromptSetting setting_;
  std::int64_t prompts_;
  Execution execution_;
  std::shared_ptr<const Held> held_;
  mutable std::atomic<PromptAverage> average_ = PromptAverage::sampled;
};

/// Fresh draws for each batch: batch k has the draws k n, ..., k n + n - 1. These are the draws of a
/// PromptRisk with the same seed, so use different seeds to keep training and testing apart. Prompts are
/// always sampled (but for L = ∞), since steps of descent are to have the noise of prompts. Domain and bits
/// are as above, with n >= 1; the error of a batch of one draw is infinite.
///
/// Regression (LawRegression) with softmax attention at finite lengths goes through the fused kernels
/// (docs/sampling.md), with streams of its own in float32: 0.4 µs a prompt and 6 ns a token for d = 5 on the
/// sphere, and similar where every law is a Gaussian, a sphere, a product or an image of one of these;
/// mixtures sample themselves, which takes longer.
class PromptBatches final : public StochasticRisk {
 public:
  PromptBatches(PromptSetting setting, std::int64_t batch_size, const Execution& execution = {});
  ~PromptBatches() override;

  Eigen::Index size() const override;
  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override;
  bool is_fused() const { return fused_ != nullptr; }

 private:
  struct Fused;
  PromptSetting setting_;
  std::int64_t batch_size_;
  Execution execution_;
  std::unique_ptr<const Fused> fused_;
};

/// ½ E ‖y‖² and the like: the risk of an output of zero. It is exact for regression with a quadratic loss,
/// else an average over draws 0, ..., n - 1.
Estimate null_risk(const PromptSetting& setting, std::int64_t prompts, const Execution& execution = {});

/// The risk of the task's learner, PromptTask::learn(), over the same draws; none if the task has none.
/// Prompts are drawn.
std::optional<Estimate> learner_risk(const PromptSetting& setting, std::int64_t prompts,
                                     const Execution& execution = {});

}  // namespace largo
