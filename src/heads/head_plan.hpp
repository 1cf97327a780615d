// What is settled of a head before the pass over its queries: which queries, which sinks, which components.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "heads/token_clusters.hpp"
#include "largo/heads/audit_options.hpp"
#include "largo/heads/captured_head.hpp"
#include "largo/runtime/execution.hpp"

namespace largo::heads {

struct HeadPlan {
  CapturedHead head;
  double scale = 1;
  std::vector<std::int64_t> queries;  ///< rows, increasing
  std::vector<std::int64_t> sampled;  ///< numbers, among these queries, of those with a curve of lengths
  std::vector<std::int64_t> sinks;    ///< positions, increasing
  TokenClusters clusters;
  double largest_value = 0;  ///< the largest ‖v‖
};

/// Whether a query, by its number among the audited ones, is used to choose sinks. The others are held out.
constexpr bool is_for_choices(std::int64_t number) { return number % 2 == 0; }

/// Cost: a pass of up to 32 queries over the keys where sinks are to be found, and that of the clusters.
HeadPlan make_head_plan(const CapturedHead& head, const AuditOptions& options, const Execution& execution);

}  // namespace largo::heads
