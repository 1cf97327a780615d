#include "heads/head_plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "heads/evenly_spaced.hpp"
#include "heads/query_statistics.hpp"
#include "heads/score_block.hpp"
#include "heads/stored_rows.hpp"
#include "largo/heads/verdict.hpp"
#include "largo/runtime/check.hpp"
#include "largo/runtime/matrix.hpp"
#include "runtime/distribute.hpp"

namespace largo::heads {
namespace {

constexpr std::int64_t kQueriesForSinks = 32;
constexpr std::int64_t kSampledQueries = 32;

std::vector<std::int64_t> given_sinks(const CapturedHead& head, const std::vector<std::int64_t>& positions) {
  const std::int64_t tokens = head.keys.rows;
  std::vector<std::int64_t> result;
  for (const std::int64_t position : positions) {
    if (position < -tokens || position >= tokens) {
      fail("heads", fmt::format("sink {} is not in the prompt of layer {}, which has {} tokens: positions "
                                "are 0 to {}, or -1 to {} from the end",
                                position, head.layer, tokens, tokens - 1, -tokens));
    }
    result.push_back(position < 0 ? tokens + position : position);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// Positions that get much weight from most queries that see them. Only positions that at least half of the
// queries see count.
std::vector<std::int64_t> found_sinks(const HeadPlan& plan, const AuditOptions& options,
                                      const Execution& execution) {
  const CapturedHead& head = plan.head;
  std::vector<std::int64_t> choosing;
  for (std::size_t i = 0; i < plan.queries.size(); ++i) {
    if (is_for_choices(static_cast<std::int64_t>(i))) choosing.push_back(plan.queries[i]);
  }
  std::vector<std::int64_t> rows;
  for (const std::int64_t i : evenly_spaced(static_cast<std::int64_t>(choosing.size()), kQueriesForSinks))
    rows.push_back(choosing[static_cast<std::size_t>(i)]);

  const auto tokens = static_cast<std::size_t>(head.keys.rows);
  std::vector<double> weight(tokens, 0), seeing(tokens, 0), weights(tokens);
  double equal_share = 0;
  const auto block = static_cast<std::size_t>(block_size(head, 0));
  for (std::size_t first = 0; first < rows.size(); first += block) {
    runtime::check_stop(execution);
    const std::size_t count = std::min(block, rows.size() - first);
    const ScoreBlock scores(head, plan.scale, options.visibility, std::span(rows).subspan(first, count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto seen = static_cast<std::size_t>(scores.seen(i));
      const QueryStatistics found = query_statistics(scores.scores(i), std::span(weights).subspan(0, seen));
      equal_share += 1 / static_cast<double>(seen);
      for (std::size_t j = 0; j < seen; ++j) {
        weight[j] += weights[j] / found.partition;
        seeing[j] += 1;
      }
    }
  }
  const auto queries = static_cast<double>(rows.size());
  const double least = std::max(kFoundSinkWeight, kFoundSinkRatio * equal_share / queries);
  std::vector<std::int64_t> result;
  for (std::size_t j = 0; j < tokens; ++j) {
    if (2 * seeing[j] >= queries && weight[j] >= least * seeing[j])
      result.push_back(static_cast<std::int64_t>(j));
  }
  const auto heavier = [&](std::int64_t a, std::int64_t b) {
    const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
    return weight[i] * seeing[j] > weight[j] * seeing[i];
  };
  std::stable_sort(result.begin(), result.end(), heavier);
  if (std::ssize(result) > kMostFoundSinks) result.resize(static_cast<std::size_t>(kMostFoundSinks));
  std::sort(result.begin(), result.end());
  return result;
}

// Errors are sums of squares, which must neither overflow nor vanish. Numbers of 16 or 32 bits are no
// problem.
void check_values(const CapturedHead& head, double largest) {
  constexpr double kMost = 1e140;
  if (largest == 0 || (largest >= 1 / kMost && largest <= kMost)) return;
  fail("heads",
       fmt::format("the largest number of layers.{}.v, head {} (of the queries) is {:.3g}, must be 0 or "
                   "from {} to {}: multiply the tensor by a power of two, which changes no result",
                   head.layer, head.head, largest, 1 / kMost, kMost));
}

// The largest ‖v‖ of the values of the head.
double largest_norm(const CapturedHead& head) {
  const StoredRows& values = head.values;
  constexpr std::int64_t kBlock = 256;
  RowMatrix rows(kBlock, values.columns);
  double largest = 0, largest_number = 0;
  for (std::int64_t first = 0; first < values.rows; first += kBlock) {
    const std::int64_t count = std::min(kBlock, values.rows - first);
    widen_rows(values, first, count, rows.data(), values.columns);
    largest = std::max(largest, rows.topRows(count).rowwise().squaredNorm().maxCoeff());
    largest_number = std::max(largest_number, rows.topRows(count).cwiseAbs().maxCoeff());
  }
  check_values(head, largest_number);
  return std::sqrt(largest);
}

}  // namespace

HeadPlan make_head_plan(const CapturedHead& head, const AuditOptions& options, const Execution& execution) {
  HeadPlan plan;
  plan.head = head;
  plan.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(head.keys.columns)));
  plan.queries = evenly_spaced(head.queries.rows, options.queries);
  plan.sampled = evenly_spaced(static_cast<std::int64_t>(plan.queries.size()), kSampledQueries);
  plan.sinks = options.sinks.positions ? given_sinks(head, *options.sinks.positions)
                                       : found_sinks(plan, options, execution);
  plan.largest_value = largest_norm(head);  // before anything else is computed of the values
  plan.clusters = token_clusters(head, plan.sinks);
  return plan;
}

}  // namespace largo::heads
