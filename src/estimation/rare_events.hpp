// What a sample of prompts cannot see: warnings from what the laws say beforehand, whatever was drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimation/query_limit.hpp"
#include "estimation/query_proposal.hpp"
#include "largo/measures/measure.hpp"

namespace largo {

/// Errors of attention to be sampled.
struct SampledLayer {
  const Measure& tokens;
  const Matrix& U;
  const Matrix& V;
  std::int64_t length = 1;
  bool gradient_U = false;
};

/// At one query, over so many prompts: too short a prompt (condensation), or too few of the tokens that carry
/// the error. Cost: some 12 tilts and the log-partitions of token_kurtosis.
std::vector<std::string> rare_events(const SampledLayer& layer, const QueryLimit& limit,
                                     std::int64_t prompts);

/// Averaged over queries: too few of the queries that carry the error (rare_query_entropy has those that the
/// proposal does not know of), or of the tokens that do so at them. The number of prompts advised is enough
/// for nothing to be said. Cost: up to 15 tilts for each of 256 queries, and rare_query_entropy.
std::vector<std::string> rare_events(const SampledLayer& layer, const Measure& queries,
                                     const QueryProposal& proposal, std::int64_t prompts);

/// Rare queries that a proposal does not know of and that carry the error of attention.
///
/// Queries are looked for by tilting their law ν: those typical of ν tilted along b are e^{-D} of the draws
/// of the proposal, D the relative entropy. Directions b, through U: for a mixture of tokens, the means of
/// its components and the axes along which one is wider than the law; unless tokens and queries are Gaussian
/// (or tokens a mixture of such), the principal axes of the scores and the coordinates of tokens and queries.
/// Returns the largest D (with that of the tokens that carry the error at such queries) of those whose share
/// of the error exceeds a twentieth of `log_means`, the logarithms of its means so far; zero: none. Not found
/// is what is rare in other directions, or in many dimensions by its norm alone.
/// Cost: some 40 tilts of the tokens (means) for each direction. With the 256 queries of rare_events: 2 to 7
/// s for mixtures of 20 Gaussians in 200 dimensions or 100 in 50.
double rare_query_entropy(const SampledLayer& layer, const Measure& queries, const QueryProposal& proposal,
                          const ErrorProxy& log_means);

/// How rare the tokens are that make up the moments of a law: known from its log-partition, before any is
/// drawn. With x = z − mean(μ) and W = V or the identity, whichever is worse: upper bounds of the logarithms
/// of E‖Wx‖⁴/(E‖Wx‖²)² and E‖Wx‖⁸/(E‖Wx‖⁴)². Among n tokens about n over the ratio carry the second and the
/// fourth moment: an atom of probability p beside zero has the ratios 1/p.
struct TokenKurtosis {
  double fourth = 0, eighth = 0;
};

/// Moments along a coordinate are bounded by m_{2k} <= (2k)! min_t E[cosh(t x) − 1] / t^{2k}, which needs
/// log-partitions alone: within factors of 3 and 5 (k = 2, 4) for a Gaussian, 2.5 and 5 for a rare atom. They
/// are combined by Minkowski's inequality over all coordinates. Looser where rounding hides atoms, below
/// probabilities of some 1e-13. Those of a prompt are summed over its tokens, with the slack of an atom.
/// Cost: one product with its matrix a coordinate and component for mixtures of Gaussians (0.05 s for 20 of
/// them in 200 dimensions); for other laws 20 to 150 log-partitions a coordinate; one pass over a prompt.
TokenKurtosis token_kurtosis(const Measure& law, const ConstMatrixRef& V);

}  // namespace largo
