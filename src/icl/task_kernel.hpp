// The risk of softmax attention and its gradient, summed over blocks of tasks.
#pragma once

#include <cstddef>
#include <span>

#include "icl/risk_table.hpp"
#include "icl/standard_coordinates.hpp"
#include "largo/runtime/matrix.hpp"
#include "runtime/aligned_vector.hpp"

namespace largo::icl {

/// Tasks w and queries x_q = Q χ, kept as χ, ŵ (standard_coordinates.hpp) and y = <w, x_q>. Each stands for
/// (w, x_q) and (-w, x_q). The terms that are odd in w cancel between the two signs, so that the invariant
/// set is invariant for sums over tasks too.
class TaskBlocks {
 public:
  static constexpr std::size_t kBlock = 64;  // tasks in a block: what they need fits the first-level cache

  /// One row for each task; their number, which is that of the weights, is a power of two.
  TaskBlocks(const Matrix& chi, const Matrix& w_hat, const Vector& labels, const Vector& weights);

  std::size_t blocks() const { return blocks_; }
  std::size_t query_size() const { return queries_; }
  std::size_t token_size() const { return tokens_; }
  /// The rows of block i, of kBlock numbers each: χ, ŵ, y, |ŵ|² and half the weight.
  const double* block(std::size_t i) const { return rows_.data() + i * width() * kBlock; }
  std::size_t width() const { return queries_ + tokens_ + 3; }

 private:
  std::size_t queries_, tokens_, blocks_;
  runtime::AlignedVector<double> rows_;
};

/// Number of sums that a block gives. The first is that of the risk; all together they give its slope.
std::size_t sums_width(const TaskBlocks& tasks);
StandardParameters task_slope(const TaskBlocks& tasks, const StandardParameters& parameters,
                              std::span<const double> sums);

/// Computes the sums over block i. Returns false, and writes nothing, if scores overflow. The same bits at
/// every SIMD level. Cost: 25 ns a task (both signs) for d = 5.
bool add_task_block(const TaskBlocks& tasks, std::size_t i, const StandardParameters& parameters,
                    double noise, const RiskTable& table, std::span<double> sums);

}  // namespace largo::icl
