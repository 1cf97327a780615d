#include "heads/replacements.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heads/stored_rows.hpp"

namespace largo::heads {
namespace {

// A class of tokens that is replaced by a Gaussian: its logarithm of the partition, and its tilted mean.
struct TiltedClass {
  double log_weight = 0;
  Vector value;
};

struct ClassSums {
  double count = 0, y = 0, yy = 0;  ///< y: scores from the centre
  Vector v, yv;

  void add(const ComponentSums& more) {
    count += more.count;
    y += more.y;
    yy += more.yy;
    v += more.v;
    yv += more.yv;
  }

  /// ln n + <k̄, u> + ½ uᵀCov(k)u is ln n + mean + ½ variance of the scores, and Cov(v, k) u the covariance
  /// of the values with the scores.
  TiltedClass tilted(double centre) const {
    const double mean = y / count, variance = std::max(0.0, yy / count - mean * mean);
    const Vector middle = v / count;
    return {std::log(count) + centre + mean + variance / 2, middle + yv / count - mean * middle};
  }
};

// The softmax of sinks and recent tokens as they are and of classes of others.
Vector mixed_output(const RowMatrix& exact_values, const std::vector<double>& exact_scores,
                    const std::vector<TiltedClass>& classes) {
  double largest = -std::numeric_limits<double>::infinity();
  for (const double score : exact_scores) largest = std::max(largest, score);
  for (const TiltedClass& one : classes) largest = std::max(largest, one.log_weight);
  Vector sum = Vector::Zero(exact_values.cols());
  double total = 0;
  for (std::size_t j = 0; j < exact_scores.size(); ++j) {
    const double weight = std::exp(exact_scores[j] - largest);
    total += weight;
    sum += weight * exact_values.row(static_cast<std::ptrdiff_t>(j)).transpose();
  }
  for (const TiltedClass& one : classes) {
    const double weight = std::exp(one.log_weight - largest);
    total += weight;
    sum += weight * one.value;
  }
  return sum / total;
}

}  // namespace

QueryTokens query_tokens(const HeadPlan& plan, const QueryTask& task, double mean) {
  QueryTokens result;
  const auto seen = static_cast<std::int64_t>(task.scores.size());
  const auto score = [&](std::int64_t j) { return task.scores[static_cast<std::size_t>(j)]; };
  for (const std::int64_t sink : plan.sinks) {
    if (sink >= seen) break;
    result.sink_scores.push_back(score(sink));
    if (!task.window.contains(sink)) result.exact.push_back(sink);
  }
  double sum = 0, squares = 0, first = 0;
  for (std::int64_t j = task.window.begin; j < task.window.end; ++j) {
    result.exact.push_back(j);
    if (std::binary_search(plan.sinks.begin(), plan.sinks.end(), j)) continue;
    if (result.recent.count == 0) first = score(j);
    result.recent.count += 1;
    sum += score(j) - first;
    squares += (score(j) - first) * (score(j) - first);
  }
  std::sort(result.exact.begin(), result.exact.end());
  if (result.recent.count > 0) {
    const double shift = sum / result.recent.count;
    result.recent.mean = first + shift;
    result.recent.std = std::sqrt(std::max(0.0, squares / result.recent.count - shift * shift));
  }
  double beyond = 0;
  for (const std::int64_t j : result.exact) beyond += score(j) - mean;
  const auto others = static_cast<double>(seen - std::ssize(result.exact));
  result.centre = others > 0 ? mean - beyond / others : mean;
  return result;
}

GaussianTokens other_tokens(const HeadPlan& plan, const QueryTask& task, const ValueSums& sums,
                            std::size_t query) {
  double count = 0, y = 0, yy = 0;
  for (int c = 0; c < plan.clusters.count; ++c) {
    const ComponentSums one = sums.component(query, c);
    count += one.count;
    y += one.y;
    yy += one.yy;
  }
  if (count == 0) return {};
  const double shift = y / count;
  return {count, task.centre + shift, std::sqrt(std::max(0.0, yy / count - shift * shift))};
}

Outputs query_outputs(const HeadPlan& plan, const QueryTask& task, const QueryStatistics& statistics,
                      const QueryTokens& tokens, const ValueSums& sums, std::size_t query) {
  const std::ptrdiff_t columns = plan.head.values.columns;
  RowMatrix values(std::ssize(tokens.exact), columns);
  std::vector<double> scores;
  for (std::size_t j = 0; j < tokens.exact.size(); ++j) {
    widen_rows(plan.head.values, tokens.exact[j], 1, values.data() + static_cast<std::ptrdiff_t>(j) * columns,
               columns);
    scores.push_back(task.scores[static_cast<std::size_t>(tokens.exact[j])]);
  }
  ClassSums others{.v = Vector::Zero(columns), .yv = Vector::Zero(columns)};
  std::vector<TiltedClass> components;
  for (int c = 0; c < plan.clusters.count; ++c) {
    const ComponentSums one = sums.component(query, c);
    if (one.count == 0) continue;
    others.add(one);
    ClassSums alone{.v = Vector::Zero(columns), .yv = Vector::Zero(columns)};
    alone.add(one);
    components.push_back(alone.tilted(task.centre));
  }

  Outputs result;
  Vector weighted = sums.weighted(query);
  ClassSums all = others;
  for (std::size_t j = 0; j < tokens.exact.size(); ++j) {
    const Vector value = values.row(static_cast<std::ptrdiff_t>(j)).transpose();
    const double y = scores[j] - task.centre;
    weighted += std::exp(scores[j] - statistics.largest) * value;
    all.count += 1;
    all.y += y;
    all.v += value;
    all.yv += y * value;
  }
  result.exact = weighted / statistics.partition;
  result.uniform = all.v / all.count;
  result.affine = result.uniform + all.yv / all.count - (all.y / all.count) * result.uniform;
  std::vector<TiltedClass> one_class;
  if (others.count > 0) one_class.push_back(others.tilted(task.centre));
  result.sinks_affine = mixed_output(values, scores, one_class);
  result.mixture = mixed_output(values, scores, components);
  return result;
}

}  // namespace largo::heads
