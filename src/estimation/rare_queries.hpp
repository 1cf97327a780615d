// Rare queries that carry the error of attention and that a proposal does not know of.
#pragma once

#include <cstdint>
#include <span>

#include "estimation/query_proposal.hpp"
#include "largo/measures/measure.hpp"
#include "largo/measures/planted_token.hpp"

namespace largo::estimation {

/// A layer whose errors are to be sampled.
struct SampledLayer {
  const Measure& tokens;
  const Matrix& U;
  const Matrix& V;
  std::int64_t length = 1;
  bool gradient_U = false;
  std::span<const PlantedToken> planted = {};
};

/// Searches for queries by tilting their law ν: those typical of ν tilted along b are a share e^{-D} of the
/// draws of the proposal, where D is the relative entropy. The directions b, through U, are: for a mixture of
/// tokens, the means of its components and the axes along which a component is wider than the law; and,
/// unless queries and tokens are Gaussian (or tokens a mixture of Gaussians), the principal axes of the
/// scores and the coordinates of tokens and queries. Returns the largest D, including that of the tokens that
/// carry the error at such queries, among queries whose share of the error exceeds a twentieth of
/// `log_means`, the logarithms of its means so far; zero if there are none. It does not find queries that are
/// rare in other directions, or, in many dimensions, only by their norm.
/// Cost: about 40 tilts of the tokens (means) for each direction. Together with the 256 queries of
/// rare_events: 2 to 7 s for mixtures of 20 Gaussians in 200 dimensions or of 100 in 50.
double rare_query_entropy(const SampledLayer& layer, const Measure& queries, const QueryProposal& proposal,
                          const ErrorProxy& log_means);

}  // namespace largo::estimation
