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

namespace largo::studies {

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

// What the processes of one study tell each other, again and again.

struct UnitReport {
  bool stop = false;         ///< was asked to
  std::int64_t waiting = 0;  ///< units it has not begun
  int threads = 1;
  std::vector<FinishedUnit> finished;
};

/// Every process brings its own and gets those of all. Throws OtherProcessFailed. `names` is the number of
/// results.
std::vector<UnitReport> exchange(UnitReport mine, std::size_t names, const Execution& execution);

/// InputError at every process unless all have the same units: their files may differ, or what these name.
void check_same(const Study& study, const Execution& execution);

/// The first process has a list of increasing numbers, and all get it.
std::vector<std::int64_t> share_list(std::vector<std::int64_t> list, const Execution& execution);

/// For a process that cannot go on: the others throw OtherProcessFailed.
void give_up(const Execution& execution);

}  // namespace largo::studies
