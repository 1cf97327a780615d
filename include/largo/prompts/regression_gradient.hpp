// Stochastic gradients of in-context linear regression. Prompts are drawn and attended in one pass.
//
// The task is w = P ω. The tokens are z_i = (x_i, y_i) with x_i = C χ_i, y_i = <w, x_i> + τ ε_i. The query is
// (x_q, 0) with x_q = C_q χ_q, and its label is <w, x_q>. Here ω, χ, ε are standard normal. The prediction is
// o = <v, Σ p_i z_i> with p_i ∝ e^{c <z_i, U (x_q, 0)>}. The loss is (o - <w, x_q>)², as in the published
// experiment (that of the theory without the factor ½). Linear attention has p_i = (c/L) <z_i, U (x_q, 0)>.
#pragma once

#include <cstdint>

#include "largo/attention/attention.hpp"
#include "largo/prompts/prompt_kernel.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

struct RegressionTask {
  Matrix token_root;           ///< C, d x d
  Matrix query_root;           ///< C_q, d x d
  Matrix prior_root;           ///< P, d x d
  double noise_deviation = 0;  ///< τ
  double score_scale = 1;      ///< c
};

/// Merged parameters: U is (d+1) x (d+1), and v is the row of values that makes the prediction.
struct RegressionParameters {
  Matrix U;
  Vector v;
};

struct RegressionBatch {
  std::int64_t first = 0;  ///< index of the first prompt: prompts with different indices are independent
  std::int64_t prompts = 1;
  std::int64_t length = 1;  ///< L
  std::uint64_t seed = 1;
  PromptKernel kernel = PromptKernel::collapsed;
  AttentionKind attention = AttentionKind::softmax;
};

/// Averages of loss and gradient over the batch.
struct RegressionGradient {
  double loss = 0;
  Matrix U;
  Vector v;
};

/// Domain: matching shapes, finite numbers, prompts >= 1, 1 <= length < 2^40 (2^53 for linear attention,
/// collapsed). Otherwise InputError. All draws and the sums over 256 tokens are in float32, everything else
/// in float64. The result depends only on the task, the parameters and the batch: it is bit-identical for any
/// number of threads and ranks and at every SIMD level. Memory: O(d²) per thread and up to 2 MiB of sums, for
/// any length and number of prompts. Cost: about 2.7 ns a token (collapsed), 1.4 ns a coordinate (full), and
/// O(d²) a prompt. Linear attention, collapsed, draws no tokens, since it depends on a prompt only through a
/// Wishart matrix: 0.6 µs a prompt at d = 5, for any length. In full it takes O(d²) a token and is meant for
/// checks.
RegressionGradient regression_gradient(const RegressionTask& task, const RegressionParameters& parameters,
                                       const RegressionBatch& batch, const Execution& execution = {});

/// The same parameters as products: U = Kᵀ Q, v = Vᵀ o. (The score scale 1/√(d+1) belongs to the task.)
struct FactoredParameters {
  Matrix K, Q, V;
  Vector output;  ///< o

  RegressionParameters merged() const;
};

/// The gradient in these parameters, by the chain rule.
FactoredParameters factored_gradient(const FactoredParameters& parameters,
                                     const RegressionGradient& gradient);

}  // namespace largo
