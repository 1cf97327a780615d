// How far attention over L i.i.d. tokens of any law is from its limit, by sampling prompts.
//
// With a = Uz, T[μ](z) = V mean(ν_a), C_a = cov(ν_a) and hats for the prompt, the same quantities as the
// exact engine's (gaussian_error.hpp):
//
//   output      E‖T[μ̂_L](z) − T[μ](z)‖²
//   gradient_V  E‖∇_V T[μ̂_L](z) − ∇_V T[μ](z)‖² = rows(V) E‖mean(ν̂_a) − mean(ν_a)‖²
//   gradient_U  E‖∇_U T[μ̂_L](z) − ∇_U T[μ](z)‖² = ‖z‖² E‖V (Ĉ_a − C_a)‖²
//   bias        E T[μ̂_L](z) − T[μ](z)
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "largo/estimation/error_sampling.hpp"
#include "largo/estimation/sample_means.hpp"
#include "largo/measures/measure.hpp"

namespace largo {

struct SampledErrors {
  SampledMean output, gradient_V;
  SampledMean gradient_U;         ///< zeros unless asked for
  std::vector<SampledMean> bias;  ///< one for each row of V
  SampledMean p2;                 ///< Σ p_i² of the weights; 1/p2 is the effective number of tokens
  /// Where intervals may miss their level or the prompt is too short to speak of a limit: what, and what to
  /// do. Mostly from what the laws say beforehand, whatever the seed (docs/sampling.md).
  std::vector<std::string> warnings;
};

/// At one query. Domain: shapes as in attention, finite numbers. Otherwise InputError. Relative error of the
/// arithmetic: 1e-6 (float32; scores within 100 of one another), 1e-13 (float64). Cost with AVX2, per token:
/// 1 ns a normal coordinate, less for coins and intervals (full); 3 to 6 ns in all (collapsed); per prompt
/// some µs and 10 ns for each component of a mixture: with thousands of them, such as the atoms of a product,
/// the full kernel is the faster.
/// Intervals cover the noise of the prompts drawn. Without a warning they keep 93 % and more of their 95 %
/// wherever it was measured; what they cannot see, tokens too rare for all prompts together, is warned of
/// from the tilts of the law and bounds of its moments. A law whose log_partition is wrong can hide them.
SampledErrors sample_attention_errors(const Measure& law, const ConstMatrixRef& U, const ConstMatrixRef& V,
                                      const ConstVectorRef& query, const ErrorSampling& sampling,
                                      const Execution& execution = {});

/// Averaged over queries: a fresh query for each prompt. Gaussian queries are drawn wider than their law, to
/// where the error is, and weighed by the ratio of the densities, at most 2; those of other laws as they are.
/// Intervals cover the noise of queries and prompts; too few of the queries or tokens that carry the error
/// are warned of. Not seen: queries of a law that is not Gaussian that are rare in other directions than the
/// two in which scores vary most, or rare in norm alone in many dimensions.
SampledErrors sample_attention_errors(const Measure& law, const ConstMatrixRef& U, const ConstMatrixRef& V,
                                      const Measure& queries, const ErrorSampling& sampling,
                                      const Execution& execution = {});

}  // namespace largo
