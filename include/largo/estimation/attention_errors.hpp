// The distance of attention over L i.i.d. tokens of any law from its limit, by sampling prompts.
//
// With a = Uz, T[μ](z) = V mean(ν_a), C_a = cov(ν_a), and hats for the prompt, the quantities are those of
// the exact engine (gaussian_error.hpp):
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
  SampledMean gradient_U;         ///< zero unless asked for
  std::vector<SampledMean> bias;  ///< one for each row of V
  SampledMean p2;                 ///< Σ p_i² over the weights; 1/p2 is the effective number of tokens
  /// Warns if intervals may not reach their level, or if the prompt is too short for its limit to mean
  /// anything. Each warning says what is wrong and what to do. Most follow from the laws alone, for any seed
  /// (docs/sampling.md).
  std::vector<std::string> warnings;
};

/// The errors at one query. Domain: shapes as in attention, finite numbers; otherwise InputError. Relative
/// error of the arithmetic: 1e-6 (float32; scores within 100 of one another), 1e-13 (float64). Cost with
/// AVX2, per token: 1 ns a normal coordinate, less for coins and intervals (full); 3 to 6 ns in all
/// (collapsed). Per prompt: a few µs, and 10 ns for each component of a mixture; with thousands of
/// components, such as the atoms of a product, the full kernel is faster. Intervals cover the noise of the
/// prompts drawn. Without a warning their coverage is 93 % or more, of the nominal 95 %, wherever it was
/// measured. They cannot see tokens too rare for all prompts together; warnings of these come from the tilts
/// of the law and bounds on its moments. A law whose log_partition is wrong can hide them.
SampledErrors sample_attention_errors(const Measure& law, const ConstMatrixRef& U, const ConstMatrixRef& V,
                                      const ConstVectorRef& query, const ErrorSampling& sampling,
                                      const Execution& execution = {});

/// The errors averaged over queries, with a fresh query for each prompt. Gaussian queries are drawn from a
/// wider law than their own, to reach the queries that carry the error, and are weighted by the ratio of the
/// densities, at most 2. Queries of other laws are drawn as they are. Intervals cover the noise of queries
/// and prompts. A warning says if too few of the queries or tokens that carry the error are drawn. It cannot
/// see two kinds of queries of a law that is not Gaussian: those that are rare in directions other than the
/// two in which scores vary most, and those that are rare only in norm, in many dimensions.
SampledErrors sample_attention_errors(const Measure& law, const ConstMatrixRef& U, const ConstMatrixRef& V,
                                      const Measure& queries, const ErrorSampling& sampling,
                                      const Execution& execution = {});

}  // namespace largo
