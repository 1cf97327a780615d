// Rare queries that a proposal does not know of and that carry the error of attention.
#pragma once

#include <cstdint>

#include "estimation/query_proposal.hpp"
#include "largo/measures/measure.hpp"

namespace largo::estimation {

/// Errors of attention to be sampled.
struct SampledLayer {
  const Measure& tokens;
  const Matrix& U;
  const Matrix& V;
  std::int64_t length = 1;
  bool gradient_U = false;
};

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

}  // namespace largo::estimation
