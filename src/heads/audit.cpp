#include "largo/heads/audit.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "heads/head_plan.hpp"
#include "heads/query_pass.hpp"
#include "heads/score_block.hpp"
#include "heads/score_histogram.hpp"
#include "largo/heads/verdict.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo {
namespace {

using heads::HeadPlan;
using heads::kLengths;
using heads::QueryRecord;

constexpr const char* kFunction = "heads";

void check_options(const AuditOptions& options) {
  if (options.scale) {
    check_finite(kFunction, "scale", *options.scale);
    check_positive(kFunction, "scale", *options.scale);
  }
  const auto check_count = [](const char* name, std::int64_t value) {
    if (value < 0) fail(kFunction, name, std::to_string(value), "a whole number, at least 0");
  };
  check_count("recent", options.recent);
  check_count("queries", options.queries);
  check_count("block", options.block);
  if (!(options.tolerance > 0 && options.tolerance <= 1))
    fail(kFunction, "tolerance", options.tolerance, "above 0 and at most 1");
  if (options.sinks.positions && std::ssize(*options.sinks.positions) > kMostSinks) {
    fail(kFunction, "sinks", fmt::format("{} positions", options.sinks.positions->size()),
         fmt::format("at most {} positions", kMostSinks));
  }
}

/// Shares of the work that are done, from any thread.
class SharedProgress {
 public:
  SharedProgress(const std::function<void(double)>& show, double total) : show_(show), total_(total) {}

  void add(double work) {
    if (!show_) return;
    const std::scoped_lock lock(mutex_);
    done_ += work;
    show_(std::min(1.0, done_ / total_));
  }

 private:
  const std::function<void(double)>& show_;
  double total_, done_ = 0;
  std::mutex mutex_;
};

/// Queries of one head that share a pass.
struct Block {
  std::size_t head = 0, first = 0, count = 0;
};

std::vector<Block> blocks_of(const std::vector<HeadPlan>& plans, const AuditOptions& options) {
  std::vector<Block> blocks;
  for (std::size_t h = 0; h < plans.size(); ++h) {
    const std::size_t queries = plans[h].queries.size();
    const auto size = static_cast<std::size_t>(heads::block_size(plans[h].head, options.block));
    for (std::size_t first = 0; first < queries; first += size)
      blocks.push_back({h, first, std::min(size, queries - first)});
  }
  return blocks;
}

double median(std::vector<double> values) {
  const std::size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle)) + upper) /
         2;
}

double ratio(double error, double output) { return error == 0 ? 0 : error / output; }

ReplacementErrors errors_of(const std::vector<const QueryRecord*>& records) {
  ReplacementErrors sums;
  double output = 0;
  for (const QueryRecord* record : records) {
    sums.uniform += record->uniform;
    sums.affine += record->affine;
    sums.sinks_affine += record->sinks_affine;
    sums.mixture += record->mixture;
    output += record->output;
  }
  return {ratio(sums.uniform, output), ratio(sums.affine, output), ratio(sums.sinks_affine, output),
          ratio(sums.mixture, output)};
}

void add_lengths(HeadAudit& audit, const HeadPlan& plan, std::span<const QueryRecord> records,
                 double tolerance) {
  std::array<double, kLengths> measured = {}, predicted = {}, certified = {};
  double output = 0;
  for (const std::int64_t i : plan.sampled) {
    const QueryRecord& record = records[static_cast<std::size_t>(i)];
    output += record.output;
    for (std::size_t k = 0; k < kLengths; ++k) {
      measured[k] += record.measured[k];
      predicted[k] += record.predicted[k];
      certified[k] += record.certified[k];
    }
  }
  for (std::size_t k = 0; k < kLengths; ++k) {
    measured[k] = ratio(measured[k], output);
    predicted[k] = ratio(predicted[k], output);
    certified[k] = ratio(certified[k], output);
    audit.lengths.push_back({heads::length_at(k), measured[k], predicted[k], certified[k]});
  }
  audit.length_measured = heads::length_within(measured, tolerance);
  audit.length_predicted = heads::length_within(predicted, tolerance);
}

ScoreHistogram scores_of(std::span<const QueryRecord> records) {
  heads::ScoreCounts counts = {};
  for (const QueryRecord& record : records)
    std::transform(counts.begin(), counts.end(), record.scores.begin(), counts.begin(), std::plus<>());
  return heads::histogram_of(counts);
}

HeadAudit summary(const HeadPlan& plan, std::span<const QueryRecord> records, double tolerance) {
  HeadAudit audit;
  audit.layer = plan.head.layer;
  audit.sequence = plan.head.sequence;
  audit.head = plan.head.head;
  audit.tokens = plan.head.keys.rows;
  audit.head_dim = plan.head.keys.columns;
  audit.queries = std::ssize(records);
  audit.sinks = plan.sinks;
  audit.components = plan.clusters.count;
  const auto middle = [&](double QueryRecord::*field) {
    std::vector<double> values;
    for (const QueryRecord& record : records) values.push_back(record.*field);
    return median(std::move(values));
  };
  audit.score_std = middle(&QueryRecord::score_std);
  audit.score_skewness = middle(&QueryRecord::score_skewness);
  audit.score_kurtosis = middle(&QueryRecord::score_kurtosis);
  audit.P2 = middle(&QueryRecord::P2);
  audit.P2_predicted = middle(&QueryRecord::P2_predicted);
  std::vector<double> effective;
  for (const QueryRecord& record : records) effective.push_back(1 / record.P2);
  audit.effective_tokens = median(std::move(effective));
  audit.entropy = middle(&QueryRecord::entropy);
  audit.sink_mass = middle(&QueryRecord::sink_mass);
  audit.recent_mass = middle(&QueryRecord::recent_mass);
  audit.local_mass = middle(&QueryRecord::local_mass);
  audit.max_weight = middle(&QueryRecord::max_weight);

  std::vector<const QueryRecord*> all, held_out;
  for (std::size_t i = 0; i < records.size(); ++i) {
    all.push_back(&records[i]);
    if (!heads::is_for_choices(static_cast<std::int64_t>(i))) held_out.push_back(&records[i]);
  }
  audit.errors = errors_of(all);
  if (!held_out.empty()) audit.held_out_errors = errors_of(held_out);
  audit.scores = scores_of(records);
  add_lengths(audit, plan, records, tolerance);
  audit.kind = kind_of(audit, tolerance);
  return audit;
}

}  // namespace

std::vector<HeadAudit> audit(const Capture& capture, const AuditOptions& options,
                             const Execution& execution) {
  check_options(options);
  const std::vector<CapturedHead>& captured = capture.heads();
  runtime::parallel_for(std::ssize(captured), execution, [&](std::ptrdiff_t h) {
    runtime::check_stop(execution);
    check_finite(captured[static_cast<std::size_t>(h)]);
  });
  std::vector<HeadPlan> plans(captured.size());
  constexpr double kPlanShare = 0.1;  // of the work, roughly
  const auto count = static_cast<double>(captured.size());
  SharedProgress progress(options.progress, count);
  runtime::parallel_for(std::ssize(captured), execution, [&](std::ptrdiff_t h) {
    runtime::check_stop(execution);
    const auto i = static_cast<std::size_t>(h);
    plans[i] = heads::make_head_plan(captured[i], options, execution);
    progress.add(kPlanShare);
  });

  const std::vector<Block> blocks = blocks_of(plans, options);
  const std::size_t most = std::max_element(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
                             return a.count < b.count;
                           })->count;
  const heads::LengthTables tables;
  const std::size_t width = most * heads::kRecordWidth;
  const runtime::AlignedVector<double> rows = runtime::distribute_rows(
      std::ssize(blocks), width, execution, [&](std::ptrdiff_t b, std::span<double> row) {
        const Block& block = blocks[static_cast<std::size_t>(b)];
        std::vector<QueryRecord> records(block.count);
        const HeadPlan& plan = plans[block.head];
        heads::pass_queries(plan, options, tables, block.first, records, execution);
        std::memcpy(row.data(), records.data(), records.size() * sizeof(QueryRecord));
        progress.add((1 - kPlanShare) * static_cast<double>(block.count) /
                     static_cast<double>(plan.queries.size()));
      });

  std::vector<std::vector<QueryRecord>> records(plans.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    std::vector<QueryRecord> part(blocks[b].count);
    std::memcpy(part.data(), rows.data() + b * width, part.size() * sizeof(QueryRecord));
    records[blocks[b].head].insert(records[blocks[b].head].end(), part.begin(), part.end());
  }
  std::vector<HeadAudit> audits;
  for (std::size_t h = 0; h < plans.size(); ++h)
    audits.push_back(summary(plans[h], records[h], options.tolerance));
  return audits;
}

}  // namespace largo
