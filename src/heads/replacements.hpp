// The output of one query, and what stands in for it: formulas of largo/heads/audit.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "heads/query_statistics.hpp"
#include "heads/value_sums.hpp"

namespace largo::heads {

struct GaussianTokens {
  double count = 0, mean = 0, std = 0;  ///< of the scores
};

/// The tokens that a query sees, by their part.
struct QueryTokens {
  std::vector<std::int64_t> exact;  ///< positions of sinks and recent tokens, increasing
  std::vector<double> sink_scores;
  GaussianTokens recent;  ///< that are no sinks
  double centre = 0;      ///< of the scores of the others: their mean, up to rounding
};

/// `mean`: of all scores. Cost: that of the sinks and the recent tokens.
QueryTokens query_tokens(const HeadPlan& plan, const QueryTask& task, double mean);

/// The tokens that are neither sinks nor recent.
GaussianTokens other_tokens(const HeadPlan& plan, const QueryTask& task, const ValueSums& sums,
                            std::size_t query);

struct Outputs {
  Vector exact, uniform, affine, sinks_affine, mixture;
};

Outputs query_outputs(const HeadPlan& plan, const QueryTask& task, const QueryStatistics& statistics,
                      const QueryTokens& tokens, const ValueSums& sums, std::size_t query);

}  // namespace largo::heads
