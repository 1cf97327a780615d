// A block of queries of one head: everything about them that a pass over the keys and values says.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "heads/head_plan.hpp"
#include "heads/length_curve.hpp"
#include "heads/length_tables.hpp"
#include "heads/score_histogram.hpp"
#include "largo/heads/audit_options.hpp"
#include "largo/runtime/execution.hpp"

namespace largo::heads {

/// Numbers alone, so that threads and processes can exchange them as rows.
struct QueryRecord {
  double score_std, score_skewness, score_kurtosis, P2, P2_predicted, entropy;
  double sink_mass, recent_mass, local_mass, max_weight;
  double output;                                                ///< ‖T‖²
  double uniform, affine, sinks_affine, mixture;                ///< ‖T - T̃‖²
  std::array<double, kLengths> measured, predicted, certified;  ///< zero unless the query has a curve
  ScoreCounts scores;
};
inline constexpr std::size_t kRecordWidth = sizeof(QueryRecord) / sizeof(double);

/// Queries number `first` to `first + records.size()` of the plan.
void pass_queries(const HeadPlan& plan, const AuditOptions& options, const LengthTables& tables,
                  std::size_t first, std::span<QueryRecord> records, const Execution& execution);

}  // namespace largo::heads
