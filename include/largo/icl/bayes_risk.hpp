// The risk of the Bayes predictor of in-context regression, by sampling the posterior of the task.
//
// Given a prompt (x_i, y_i), y_i = <w, x_i> + s ε_i, the posterior of the task has the density
//
//   π(w | prompt) ∝ π(w) E_s ∏_i f((y_i - <w, x_i>)/s)/s,
//
// where π and f are the densities of prior and noise. The output that minimises the posterior mean of
// the loss at the query is the Bayes prediction. For Gaussian prior and noise that is ridge regression
// (learner_risk); here are the others.
#pragma once

#include <cstdint>
#include <optional>

#include "largo/icl/prompt_setting.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// What the predictor with a sampled posterior costs. No predictor has a mean below the Bayes risk, and this
/// is one: whatever the samples of a posterior may miss, `value` is the Bayes risk or more, up to its error.
/// As for all averages over draws, the error does not see rare prompts that were not drawn. They carry the
/// risk where most prompts leave no doubt about the task: long ones with a finite prior.
struct BayesRisk {
  double value = 0;
  double error = 0;   ///< standard error, over prompts
  double excess = 0;  ///< estimate of what sampling the posterior adds; 0 if the prior has finitely many
                      ///< points: sums over them are exact
  double poor = 0;    ///< share of prompts whose posterior has fewer than 50 effective samples
  std::int64_t prompts = 0;
};

/// Averages over draws 0, ..., n - 1 of the setting, those of learner_risk. None unless
///   - the task is a LawRegression with one output and noise, and a finite length,
///   - prior or noise is not Gaussian (else ridge regression is the Bayes predictor),
///   - noise has a density: a Gaussian, uniform or Laplace law or a mixture of these; and its scale, if it is
///     random, has finitely many values,
///   - the prior has such a density in each coordinate, or is an image or mixture of such laws, or has at
///     most 4096 points (products of discrete coordinates).
///
/// Method: importance sampling with a multivariate t, which is fitted to the posterior in steps, first
/// flattened, as far as the samples see it; then fresh samples, 512 or 64 for each dimension, and up to 16384
/// until 400 of them are effective. A loss that
/// is not convex in the output gets a stationary point of its posterior mean. Cost: some 10 evaluations
/// of the densities per token and sample, 1 ms for a prompt of 20 tokens. Same bits for any Execution.
/// InputError for fewer than 2 prompts. Throws Stopped.
std::optional<BayesRisk> bayes_risk(const PromptSetting& setting, std::int64_t prompts,
                                    const Execution& execution = {});

}  // namespace largo
