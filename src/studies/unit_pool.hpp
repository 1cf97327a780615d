// Threads that evaluate the units of a study, each unit on one of them, while another thread hands out the
// units and writes the results.
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

/// Evaluates one unit. An exception is the unit's failure, except for Stopped, which is passed on. Running
/// out of memory is a failure, too: one unit that is too large must not keep the others from being run.
FinishedUnit evaluate_unit(const Study& study, std::int64_t unit, const Execution& execution);

class UnitPool {
 public:
  /// Starts `threads` workers, each of which gives its units `inner` threads: more than one if there are
  /// fewer units than threads. A device takes one worker.
  UnitPool(const Study& study, int threads, int inner, const Device* device = nullptr);
  UnitPool(const UnitPool&) = delete;
  UnitPool& operator=(const UnitPool&) = delete;
  ~UnitPool();  ///< drops the units that have not begun, and stops those that have

  void add(std::span<const std::int64_t> units);
  /// Waits until the pool wants more units or, if there are none, has finished all; until a worker cannot go
  /// on; or until `patience` has passed.
  void wait(bool are_more, std::chrono::nanoseconds patience);
  /// The units finished since the last call. Throws the error after which a worker could not go on.
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

// What the processes of one study tell each other at every exchange.

struct UnitReport {
  bool stop = false;         ///< whether the process was asked to stop
  std::int64_t waiting = 0;  ///< units it has not begun
  int threads = 1;
  std::vector<FinishedUnit> finished;
};

/// Every process contributes its own report and gets those of all. Throws OtherProcessFailed. `names` is the
/// number of results.
std::vector<UnitReport> exchange(UnitReport mine, std::size_t names, const Execution& execution);

/// Throws InputError at every process unless all have the same units: the study files, or files that they
/// name, may differ.
void check_same(const Study& study, const Execution& execution);

/// Sends the first process's list of increasing numbers to all processes.
std::vector<std::int64_t> share_list(std::vector<std::int64_t> list, const Execution& execution);

/// Called by a process that cannot go on: the others throw OtherProcessFailed.
void give_up(const Execution& execution);

}  // namespace largo::studies
