// The sums over values that outputs and their replacements are made of, for a block of queries.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "heads/head_plan.hpp"
#include "heads/length_curve.hpp"
#include "heads/score_block.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::heads {

/// One query: what it sees, and the weights of it. The tokens that are neither sinks nor recent are others.
struct QueryTask {
  std::span<const double> scores, weights;
  double largest = 0;         ///< score
  double centre = 0;          ///< of the scores of the others, nearly
  Range window;               ///< of recent keys
  ScoreBins* bins = nullptr;  ///< filled with all tokens, if there is a curve
};

/// Sums over the others in one component, with y = score - centre.
struct ComponentSums {
  double count = 0, y = 0, yy = 0;
  Eigen::Map<const Vector> v, yv;
};

class ValueSums {
 public:
  /// Cost: a pass over the values that any of them sees.
  ValueSums(const HeadPlan& plan, std::span<const QueryTask> tasks);

  /// Σ w v over the others.
  Eigen::Map<const Vector> weighted(std::size_t query) const;
  ComponentSums component(std::size_t query, int component) const;

 private:
  class Tile;
  void add(std::size_t query, const QueryTask& task, const Tile& tile, std::span<const std::int64_t> sinks);
  double* sums_of(std::size_t query) { return sums_.data() + query * query_width(); }
  std::size_t query_width() const { return static_cast<std::size_t>((1 + 2 * components_) * width_); }

  std::int64_t columns_, width_, components_;
  runtime::AlignedVector<double> sums_;  ///< of each query: Σ w v, then Σ v and Σ y v of each component
  std::vector<double> scalars_;          ///< of each query and component: count, Σ y, Σ y²
};

}  // namespace largo::heads
