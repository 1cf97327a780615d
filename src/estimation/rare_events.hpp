// What a sample of prompts cannot see: warnings from what the laws say beforehand, whatever was drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimation/query_limit.hpp"
#include "estimation/query_proposal.hpp"
#include "estimation/rare_queries.hpp"
#include "largo/measures/measure.hpp"

namespace largo::estimation {

/// At one query, over so many prompts: too short a prompt (condensation), or too few of the tokens that carry
/// the error. Cost: some 12 tilts and the log-partitions of token_kurtosis.
std::vector<std::string> rare_events(const SampledLayer& layer, const QueryLimit& limit,
                                     std::int64_t prompts);

/// Averaged over queries: too few of the queries that carry the error (rare_queries.hpp has those that the
/// proposal does not know of), or of the tokens that do so at them. The number of prompts advised is enough
/// for nothing to be said. Cost: up to 15 tilts for each of 256 queries, and rare_query_entropy.
std::vector<std::string> rare_events(const SampledLayer& layer, const Measure& queries,
                                     const QueryProposal& proposal, std::int64_t prompts);

}  // namespace largo::estimation
