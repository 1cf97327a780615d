// In-context regression as descent sees it: batches of prompts, drawn anew for every step.
#pragma once

#include <cstdint>
#include <memory>

#include "largo/attention/attention.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/prompts/prompt_kernel.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/training/risk.hpp"

namespace largo {

struct RegressionBatches {
  std::int64_t length = 1;  ///< L
  std::int64_t prompts = 128;
  std::uint64_t seed = 1;
  AttentionKind attention = AttentionKind::softmax;
  PromptKernel kernel = PromptKernel::collapsed;
  /// Of the squared error. With ½ the mean is the risk R_L of this folder; 1 is the published experiment's
  /// loss, whose gradients are twice as large.
  double loss_factor = 0.5;
  Execution execution = {.threads = 1};  ///< of one batch; sweeps share the cores over runs
};

/// What a prompt of a step costs, in tokens: its own, and its algebra.
double cost_of(const RegressionBatches& batches);

/// factor · mean (o - y_q)² over the prompts k n, ..., (k + 1) n - 1 for step k and n prompts, and its
/// gradient in (U, v), laid out as in regression_problem.hpp: exact in law, and the same bits for every
/// Execution. The error of the value is not estimated (zero): a batch is a step, not a measurement; the risks
/// of a descent's records are exact ones. InputError for a problem, length, batch or factor that makes no
/// sense; when asked, for parameters whose loss overflows. Cost: that of regression_gradient, and 1 µs.
std::shared_ptr<const StochasticRisk> regression_batches(const RegressionProblem& problem,
                                                         const RegressionBatches& batches);

}  // namespace largo
