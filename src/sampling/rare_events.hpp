// What a sample of prompts cannot see: warnings from what the laws say beforehand, whatever was drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "largo/measures/measure.hpp"
#include "sampling/query_limit.hpp"
#include "sampling/query_proposal.hpp"

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

/// Averaged over queries: too few of the queries that carry the error, or of the tokens that do so at them.
/// Queries of other laws than Gaussian ones are looked for by tilting their law along the two directions in
/// which scores vary most; rare ones in other directions, or shells of rare norm in many dimensions, are not
/// found. Cost: up to 15 tilts for one query in eight, 64 to 256 queries in all.
std::vector<std::string> rare_events(const SampledLayer& layer, const Measure& queries,
                                     const QueryProposal& proposal, std::int64_t prompts);

}  // namespace largo
