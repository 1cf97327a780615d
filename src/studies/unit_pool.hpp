// Threads that evaluate units of a study, one unit on one thread, beside the thread that hands them out and
// writes what they find.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "largo/runtime/execution.hpp"
#include "largo/studies/study.hpp"
#include "studies/store.hpp"

namespace largo {

/// Evaluates one unit. What it throws is its failure, but for Stopped, which goes on. Too little memory is a
/// failure, too: one unit that is too large must not keep the others from being run.
FinishedUnit evaluate_unit(const Study& study, std::int64_t unit, const Execution& execution);

class UnitPool {
 public:
  /// `threads` workers, each of which gives its units `inner` threads: more than one where there are fewer
  /// units than threads. A device takes one worker.
  UnitPool(const Study& study, int threads, int inner, const Device* device = nullptr);
  UnitPool(const UnitPool&) = delete;
  UnitPool& operator=(const UnitPool&) = delete;
  ~UnitPool();  ///< drops what has not begun, and stops what has

  void add(std::span<const std::int64_t> units);
  /// Until it wants more units, or, where there are none, has finished all; until something cannot go on; or
  /// at most so long.
  void wait(bool are_more, std::chrono::nanoseconds patience);
  /// What was finished since the last time. Throws what a worker could not go on from.
  std::vector<FinishedUnit> take();
  std::int64_t waiting() const;  ///< units that have not begun

 private:
  void work();
  void end();

  const Study& study_;
  int inner_;
  const Device* device_;
  std::atomic<bool> stop_ = false;
  mutable std::mutex mutex_;
  std::condition_variable more_, low_;
  std::deque<std::int64_t> queue_;
  std::vector<FinishedUnit> finished_;
  std::int64_t active_ = 0;
  std::exception_ptr error_;
  std::vector<std::thread> workers_;
};

}  // namespace largo
