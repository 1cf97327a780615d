// In-context regression for stochastic descent: batches of prompts, drawn anew for every step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "largo/attention/attention.hpp"
#include "largo/exact/length_law.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/prompts/prompt_kernel.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/training/risk.hpp"

namespace largo {

struct RegressionBatches {
  std::int64_t length = 1;  ///< L
  /// Instead of `length`: each prompt draws its own, by the law, which has finite whole lengths only.
  std::optional<LengthLaw> random_length = {};
  std::int64_t prompts = 128;
  std::uint64_t seed = 1;
  AttentionKind attention = AttentionKind::softmax;
  PromptKernel kernel = PromptKernel::collapsed;
  /// The factor of the squared error in the loss. With ½ the mean of the loss is the risk R_L of this folder.
  /// With 1 it is the loss of the published experiment, whose gradients are twice as large.
  double loss_factor = 0.5;
  Execution execution = {.threads = 1};  ///< for one batch; sweeps use the cores for different runs
};

/// The cost of one prompt of a step, in tokens: its tokens, and the algebra around them.
double cost_of(const RegressionBatches& batches);

/// Batch k of n prompts is factor · mean (o - y_q)² over the prompts k n, ..., (k + 1) n - 1, with its
/// gradient in (U, v), laid out as in regression_problem.hpp. It is exact in law and bit-identical for every
/// Execution. The error of the value is not estimated (it is zero): a batch is a step, not a measurement; the
/// risks at the end of a descent are computed without sampling. InputError for a problem, length, batch or
/// factor that makes no sense and, when evaluated, for parameters whose loss overflows. Cost: that of
/// regression_gradient, plus 1 µs.
std::shared_ptr<const StochasticRisk> regression_batches(const RegressionProblem& problem,
                                                         const RegressionBatches& batches);

}  // namespace largo
