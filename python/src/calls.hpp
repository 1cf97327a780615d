// How a call from Python runs: without the interpreter's lock, showing progress, and stopped by Ctrl-C.
#pragma once

#include <atomic>
#include <functional>

#include <pybind11/pybind11.h>

#include "interpreter.hpp"
#include "largo/runtime/execution.hpp"

namespace largo::python {

/// What a running call shares with the thread that waits for it.
class Call {
 public:
  explicit Call(int threads) : threads_(threads) {}

  Execution execution() const { return {.threads = threads_, .stop = &stop_}; }
  void show(double share) { share_.store(share, std::memory_order_relaxed); }
  double share() const { return share_.load(std::memory_order_relaxed); }
  void stop() { stop_ = true; }
  bool stopped() const { return stop_; }
  /// Throws Stopped if the call was stopped; for loops in the bindings themselves.
  void check() const {
    if (stop_) throw Stopped();
  }

 private:
  int threads_;
  std::atomic<bool> stop_ = false;
  std::atomic<double> share_ = 0;
};

/// Runs `work` on a thread of its own. Every 50 ms the calling thread takes the lock, lets Python deliver
/// signals, and calls `progress` (None, or a function of the share done) if more has been done. An exception
/// of either stops the work, and is raised once it has ended. Costs some 10 µs.
void watch(const py::object& progress, int threads, const std::function<void(Call&)>& work);

/// When the interpreter ends, stops the calls on threads that it does not wait for; they end by SystemExit.
void stop_calls_at_exit();

/// Runs short work on the calling thread, without the lock. Ctrl-C waits for its end.
template <typename Work>
auto unlocked(const Work& work) {
  const Unlocked guard;
  return work();
}

}  // namespace largo::python
