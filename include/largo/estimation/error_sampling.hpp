// How the errors of attention over prompts are sampled.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/estimation/sample_means.hpp"
#include "largo/measures/planted_token.hpp"
#include "largo/prompts/prompt_kernel.hpp"

namespace largo {

struct ErrorSampling {
  std::int64_t length = 1;  ///< L, below 2^40
  std::uint64_t seed = 1;
  SamplingPlan plan;  ///< a sample is a prompt, with a query if queries are random
  /// full works for any law; collapsed, for laws with a score law (Measure::score_law). With collapsed,
  /// samples are the errors averaged exactly over everything that the scores leave open, so they have the
  /// same mean and a smaller variance. gradient_U then needs a Gaussian law.
  PromptKernel kernel = PromptKernel::full;
  TokenPrecision precision = TokenPrecision::float32;  ///< float64 with PromptKernel::full only
  bool gradient_U = false;
  /// Tokens that every prompt holds beside its `length` drawn ones; with PromptKernel::full only. Errors are
  /// measured from the limit of the law alone.
  std::vector<PlantedToken> planted = {};
};

}  // namespace largo
