// Warnings about what a sample of prompts cannot see. They follow from the laws, whatever was drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimation/query_limit.hpp"
#include "estimation/query_proposal.hpp"
#include "estimation/rare_queries.hpp"
#include "largo/measures/measure.hpp"

namespace largo::estimation {

/// Warnings at one query, for this number of prompts: the prompt is too short (condensation), or too few of
/// the tokens that carry the error are drawn. Cost: about 12 tilts and the log-partitions of token_kurtosis.
std::vector<std::string> rare_events(const SampledLayer& layer, const QueryLimit& limit,
                                     std::int64_t prompts);

/// Warnings for averages over queries: too few of the queries that carry the error are drawn
/// (rare_queries.hpp finds those that the proposal does not know of), or too few of the tokens that carry it
/// at these queries. The number of prompts that a warning advises is enough for it to disappear. Beside
/// planted tokens the queries that carry the error are not known, and there is always a warning. Cost: up to
/// 15 tilts for each of 256 queries, and rare_query_entropy.
std::vector<std::string> rare_events(const SampledLayer& layer, const Measure& queries,
                                     const QueryProposal& proposal, std::int64_t prompts);

}  // namespace largo::estimation
