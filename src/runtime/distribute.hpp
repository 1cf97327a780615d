// Distributes work over threads and ranks: the one place where both meet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "largo/runtime/execution.hpp"
#include "runtime/aligned_vector.hpp"
#include "runtime/parallel.hpp"

namespace largo::runtime {

/// Throws Stopped once the caller has asked for it.
inline void check_stop(const Execution& execution) {
  if (execution.stop != nullptr && execution.stop->load(std::memory_order_relaxed)) throw Stopped();
}

/// The units of this process: a contiguous share of [0, count).
struct Share {
  std::ptrdiff_t first = 0;
  std::ptrdiff_t count = 0;
};
Share share_of(std::ptrdiff_t count, const Execution& execution);

/// The process that takes each unit, given the costs of the units: the most expensive ones first, each to the
/// process with the least work so far.
std::vector<int> deal(const std::vector<double>& costs, int processes);

/// Gathers the rows of all ranks in order. `failed` says that this rank has none: the other ranks then throw
/// OtherProcessFailed, and this one returns nothing once they know, so that its caller can throw.
AlignedVector<double> gather_rows(AlignedVector<double> rows, bool failed, const Execution& execution);

/// Computes `count` rows of `width` numbers: body(i, row) writes row i into zeros. Each row is computed once,
/// on one thread of one rank; every rank returns all of them. An exception on one rank ends the work on all.
template <typename Body>
AlignedVector<double> distribute_rows(std::ptrdiff_t count, std::size_t width, const Execution& execution,
                                      const Body& body) {
  const Share share = share_of(count, execution);
  AlignedVector<double> rows(static_cast<std::size_t>(share.count) * width);
  try {
    const std::ptrdiff_t chunk = std::max<std::ptrdiff_t>(1, execution.chunk);  // units per task
    parallel_for((share.count + chunk - 1) / chunk, execution, [&](std::ptrdiff_t task) {
      for (std::ptrdiff_t i = task * chunk; i < std::min(share.count, (task + 1) * chunk); ++i) {
        check_stop(execution);
        body(share.first + i, std::span<double>(rows.data() + static_cast<std::size_t>(i) * width, width));
      }
    });
  } catch (...) {
    gather_rows({}, true, execution);
    throw;
  }
  return gather_rows(std::move(rows), false, execution);
}

}  // namespace largo::runtime
