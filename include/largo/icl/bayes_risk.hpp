// The risk of the Bayes predictor of in-context regression, by sampling the posterior of the task.
//
// Given a prompt (x_i, y_i), y_i = <w, x_i> + s ε_i, the posterior of the task has the density
//
//   π(w | prompt) ∝ π(w) E_s ∏_i f((y_i - <w, x_i>)/s)/s,
//
// where π and f are the densities of prior and noise. The Bayes predictor takes the output with the least
// posterior mean of the loss.
#pragma once

#include <cstdint>
#include <optional>

#include "largo/icl/prompt_setting.hpp"
#include "largo/runtime/execution.hpp"

namespace largo {

/// The risk of a predictor that samples the posterior. No predictor has a smaller mean loss than the Bayes
/// predictor, so `value` estimates a number that is at least the Bayes risk, whatever the samples of a
/// posterior missed. Its error does not see rare prompts that were not drawn. They carry the risk where most
/// prompts leave no doubt about the task: long ones with a finite prior.
struct BayesRisk {
  double value = 0;
  double error = 0;         ///< standard error, over prompts
  bool is_sampled = false;  ///< false if the prior has finitely many points: sums over them are exact
  double excess = 0;        ///< estimate of what the noise of the samples adds to the value. It does not see
                            ///< modes of a posterior that all samples missed
  double poor = 0;          ///< share of prompts whose posterior has fewer than 50 effective samples
  std::int64_t prompts = 0;
};

/// Averages over draws 0, ..., n - 1 of the setting, those of learner_risk. None if
///   - the task is no LawRegression with one output and noise, or the length is infinite;
///   - prior and noise are centred Gaussians and the loss is squared_loss(), huber_loss() or absolute_loss():
///     ridge regression is then the Bayes predictor (learner_risk);
///   - the noise has no density that is a mixture of Gaussians and of intervals with density ∝ e^{cx}
///   (uniform
///     and Laplace laws are such), or its scale has values that are not finitely many, or not positive;
///   - the prior has no such density in each coordinate, is no regular image or mixture of such laws, and is
///     not known to have at most 4096 points.
///
/// Method: importance sampling with a mixture of multivariate t's that is fitted to the posterior, then fresh
/// samples: 512, or 64 for each dimension, and up to 16384 until 400 of them are effective. The loss is
/// minimised by bisection, for outputs from the smallest to the largest sampled target and beyond as long as
/// its slope says so; a loss that is not convex in the output gets a stationary point. Cost: some 5 to 10
/// evaluations of the densities per token and sample, 1 ms for a prompt of 20 tokens; where few samples are
/// effective, thirty times as much. Same bits for any Execution. InputError for fewer than 2 prompts. Throws
/// Stopped.
std::optional<BayesRisk> bayes_risk(const PromptSetting& setting, std::int64_t prompts,
                                    const Execution& execution = {});

}  // namespace largo
