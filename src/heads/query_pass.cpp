#include "heads/query_pass.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "heads/query_statistics.hpp"
#include "heads/replacements.hpp"
#include "heads/score_block.hpp"
#include "heads/value_sums.hpp"
#include "largo/exact/token_classes.hpp"
#include "largo/heads/verdict.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"

namespace largo::heads {
namespace {

void check_scores(const HeadPlan& plan, std::int64_t row, std::span<const double> scores, double mean) {
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  const double spread = *most - *least;
  if (std::isfinite(mean) && spread <= kLargestShift) return;
  fail(
      "heads",
      fmt::format("scores of query {} of layer {}, head {} are {} apart, must be at most 1e6: give a smaller "
                  "--scale (scale in Python), or look for a fault in the capture",
                  row, plan.head.layer, plan.head.head, spread));
}

double mass(std::span<const double> weights, Range range) {
  double sum = 0;
  for (std::int64_t j = range.begin; j < range.end; ++j) sum += weights[static_cast<std::size_t>(j)];
  return sum;
}

// Sinks of given scores beside the recent tokens and the others, which are normal.
double predicted_P2(const QueryTokens& tokens, const GaussianTokens& others, double shift) {
  std::vector<TokenClass> classes;
  const auto add = [&](const GaussianTokens& one) {
    if (one.count > 0) classes.push_back({one.count, one.mean - shift, one.std});
  };
  add(others);
  add(tokens.recent);
  for (const double score : tokens.sink_scores) classes.push_back({1, score - shift, 0});
  return class_moments(classes).P2.value;
}

// tr Cov(v)
double value_variance(const ScoreBins& bins, const Vector& mean) {
  double count = 0, square = 0;
  for (const ScoreBins::Bin& bin : bins.bins()) {
    count += bin.count;
    square += bin.square;
  }
  return std::max(0.0, square / count - mean.squaredNorm());
}

}  // namespace

void pass_queries(const HeadPlan& plan, const AuditOptions& options, const LengthTables& tables,
                  std::size_t first, std::span<QueryRecord> records, const Execution& execution) {
  const CapturedHead& head = plan.head;
  const std::span<const std::int64_t> rows = std::span(plan.queries).subspan(first, records.size());
  const ScoreBlock block(head, plan.scale, options.visibility, rows);
  runtime::check_stop(execution);

  std::vector<std::vector<double>> weights(rows.size());
  std::vector<QueryStatistics> statistics(rows.size());
  std::vector<QueryTokens> tokens(rows.size());
  std::vector<QueryTask> tasks(rows.size());
  std::vector<ScoreBins> bins;
  bins.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::span<const double> scores = block.scores(i);
    weights[i].resize(scores.size());
    statistics[i] = query_statistics(scores, weights[i]);
    check_scores(plan, rows[i], scores, statistics[i].mean);
    tasks[i] = {.scores = scores,
                .weights = weights[i],
                .largest = statistics[i].largest,
                .window = window_of(head, rows[i], options.visibility, options.recent)};
    tokens[i] = query_tokens(plan, tasks[i], statistics[i].mean);
    tasks[i].centre = tokens[i].centre;
    const auto number = static_cast<std::int64_t>(first + i);
    if (std::binary_search(plan.sampled.begin(), plan.sampled.end(), number)) {
      bins.emplace_back(head.values.columns);
      tasks[i].bins = &bins.back();
    }
  }
  runtime::check_stop(execution);
  const ValueSums sums(plan, tasks);
  runtime::check_stop(execution);

  for (std::size_t i = 0; i < rows.size(); ++i) {
    const QueryStatistics& s = statistics[i];
    const Outputs outputs = query_outputs(plan, tasks[i], s, tokens[i], sums, i);
    QueryRecord& to = records[i];
    to = {};
    to.score_std = s.std;
    to.score_skewness = s.skewness;
    to.score_kurtosis = s.kurtosis;
    to.scores = count_scores(tasks[i].scores, s);
    to.P2 = s.P2;
    to.P2_predicted = predicted_P2(tokens[i], other_tokens(plan, tasks[i], sums, i), s.largest);
    to.entropy = s.entropy;
    for (const double score : tokens[i].sink_scores) to.sink_mass += std::exp(score - s.largest);
    to.sink_mass /= s.partition;
    to.recent_mass = mass(weights[i], tasks[i].window) / s.partition;
    to.local_mass =
        mass(weights[i], window_of(head, rows[i], options.visibility, kLocalWindow)) / s.partition;
    to.max_weight = 1 / s.partition;
    to.output = outputs.exact.squaredNorm();
    to.uniform = (outputs.exact - outputs.uniform).squaredNorm();
    to.affine = (outputs.exact - outputs.affine).squaredNorm();
    to.sinks_affine = (outputs.exact - outputs.sinks_affine).squaredNorm();
    to.mixture = (outputs.exact - outputs.mixture).squaredNorm();
    if (tasks[i].bins == nullptr) continue;
    to.measured = sampled_errors(*tasks[i].bins);
    to.predicted = tables.errors(s.std, value_variance(*tasks[i].bins, outputs.uniform),
                                 (outputs.affine - outputs.uniform).squaredNorm());
    to.certified =
        certified_errors(*tasks[i].bins, outputs.exact, s.P2, plan.largest_value + outputs.exact.norm());
    runtime::check_stop(execution);
  }
}

}  // namespace largo::heads
