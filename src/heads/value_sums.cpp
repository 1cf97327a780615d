#include "heads/value_sums.hpp"

#include <algorithm>
#include <numeric>

#include "heads/stored_rows.hpp"
#include "heads/tile_kernel.hpp"

namespace largo::heads {

// Values of `kTile` tokens, those of a component next to each other, and their sums.
class ValueSums::Tile {
 public:
  Tile(std::int64_t width, std::int64_t components)
      : width_(width),
        components_(components),
        rows_(static_cast<std::size_t>(kTile * width)),
        totals_(static_cast<std::size_t>(components * width)),
        squares_(static_cast<std::size_t>(kTile)),
        order_(static_cast<std::size_t>(kTile)),
        begin_(static_cast<std::size_t>(components) + 1) {}

  void load(const StoredRows& values, const TokenClusters& clusters, std::int64_t first) {
    first_ = first;
    count_ = std::min(kTile, values.rows - first);
    std::iota(order_.begin(), order_.begin() + count_, std::int64_t{0});
    if (clusters.of.empty()) {
      begin_ = {0, count_};
      widen_rows(values, first, count_, rows_.data(), width_);
    } else {
      const std::uint8_t* const of = clusters.of.data() + first;
      std::stable_sort(order_.begin(), order_.begin() + count_,
                       [of](std::int64_t i, std::int64_t j) { return of[i] < of[j]; });
      std::fill(begin_.begin(), begin_.end(), 0);
      for (std::int64_t j = 0; j < count_; ++j) {
        ++begin_[of[j] + std::size_t{1}];
        widen_rows(values, first + order_[static_cast<std::size_t>(j)], 1, rows_.data() + j * width_, width_);
      }
      std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    }
    const std::vector<double> ones(static_cast<std::size_t>(count_), 1.0);
    std::fill(totals_.begin(), totals_.end(), 0.0);
    for (std::int64_t c = 0; c < components_; ++c)
      add_rows(row(begin(c)), end(c) - begin(c), width_, ones.data(), nullptr, totals_.data() + c * width_,
               nullptr);
    for (std::int64_t j = 0; j < count_; ++j)
      squares_[static_cast<std::size_t>(j)] = Eigen::Map<const Vector>(row(j), width_).squaredNorm();
  }

  std::int64_t first() const { return first_; }
  std::int64_t count() const { return count_; }
  /// The place in the tile of the token in row j.
  std::int64_t place(std::int64_t j) const { return order_[static_cast<std::size_t>(j)]; }
  const double* row(std::int64_t j) const { return rows_.data() + j * width_; }
  double square(std::int64_t j) const { return squares_[static_cast<std::size_t>(j)]; }
  std::int64_t begin(std::int64_t component) const { return begin_[static_cast<std::size_t>(component)]; }
  std::int64_t end(std::int64_t component) const { return begin_[static_cast<std::size_t>(component) + 1]; }
  const double* total(std::int64_t component) const { return totals_.data() + component * width_; }

 private:
  std::int64_t width_, components_;
  std::int64_t first_ = 0, count_ = 0;
  runtime::AlignedVector<double> rows_, totals_;
  std::vector<double> squares_;
  std::vector<std::int64_t> order_, begin_;
};

ValueSums::ValueSums(const HeadPlan& plan, std::span<const QueryTask> tasks)
    : columns_(plan.head.values.columns),
      width_(padded(columns_)),
      components_(plan.clusters.count),
      sums_(tasks.size() * query_width()),
      scalars_(tasks.size() * static_cast<std::size_t>(3 * components_)) {
  Tile tile(width_, components_);
  std::size_t most = 0;
  for (const QueryTask& task : tasks) most = std::max(most, task.scores.size());
  for (std::size_t first = 0; first < most; first += kTile) {
    tile.load(plan.head.values, plan.clusters, static_cast<std::int64_t>(first));
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].scores.size() > first) add(i, tasks[i], tile, plan.sinks);
    }
  }
}

void ValueSums::add(std::size_t query, const QueryTask& task, const Tile& tile,
                    std::span<const std::int64_t> sinks) {
  const std::int64_t first = tile.first(), count = tile.count();
  const std::int64_t seen = std::min(count, static_cast<std::int64_t>(task.scores.size()) - first);
  const double* const scores = task.scores.data() + first;
  const double* const weights = task.weights.data() + first;
  const auto sinks_begin = std::lower_bound(sinks.begin(), sinks.end(), first);
  const auto sinks_end = std::lower_bound(sinks_begin, sinks.end(), first + count);
  const bool window =
      task.window.begin < first + count && task.window.end > first && task.window.begin < task.window.end;
  const bool whole = seen == count && sinks_begin == sinks_end && !window;

  alignas(64) double w[kTile], y[kTile], is_other[kTile];
  for (std::int64_t j = 0; j < count; ++j) {
    const std::int64_t at = tile.place(j);
    const bool other = whole || (at < seen && !task.window.contains(first + at) &&
                                 !std::binary_search(sinks_begin, sinks_end, first + at));
    w[j] = other ? weights[at] : 0;
    y[j] = other ? scores[at] - task.centre : 0;
    is_other[j] = other ? 1 : 0;
    if (task.bins != nullptr && at < seen) {
      task.bins->add(task.largest - scores[at], weights[at],
                     {tile.row(j), static_cast<std::size_t>(columns_)}, tile.square(j));
    }
  }
  double* const sums = sums_of(query);
  for (std::int64_t c = 0; c < components_; ++c) {
    const std::int64_t from = tile.begin(c), rows = tile.end(c) - from;
    if (rows == 0) continue;
    double* const v = sums + (1 + 2 * c) * width_;
    double* const yv = v + width_;
    add_rows(tile.row(from), rows, width_, w + from, y + from, sums, yv);
    double* const scalar = scalars_.data() + query * static_cast<std::size_t>(3 * components_) + 3 * c;
    if (whole) {
      for (std::int64_t i = 0; i < width_; ++i) v[i] += tile.total(c)[i];
      scalar[0] += static_cast<double>(rows);
    } else {
      add_rows(tile.row(from), rows, width_, is_other + from, nullptr, v, nullptr);
      for (std::int64_t j = from; j < from + rows; ++j) scalar[0] += is_other[j];
    }
    const PowerSums powers = power_sums(y + from, rows, 0);
    scalar[1] += powers.one;
    scalar[2] += powers.two;
  }
}

Eigen::Map<const Vector> ValueSums::weighted(std::size_t query) const {
  return {sums_.data() + query * query_width(), columns_};
}

ComponentSums ValueSums::component(std::size_t query, int component) const {
  const double* const v = sums_.data() + query * query_width() + (1 + 2 * component) * width_;
  const double* const scalar =
      scalars_.data() + query * static_cast<std::size_t>(3 * components_) + 3 * component;
  return {scalar[0], scalar[1], scalar[2], Eigen::Map<const Vector>(v, columns_),
          Eigen::Map<const Vector>(v + width_, columns_)};
}

}  // namespace largo::heads
