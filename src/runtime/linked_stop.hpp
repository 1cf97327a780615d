// A stop flag for a part of the work, which follows the stop flag of the whole.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/parallel.hpp"

namespace largo::runtime {

/// A flag for Execution::stop. It is set at most 50 ms after `outer` (null: there is none), and by set(),
/// which leaves `outer` as it is. `outer` must outlive it.
class LinkedStop {
 public:
  explicit LinkedStop(const std::atomic<bool>* outer) : outer_(outer) {
    look();
    if (outer != nullptr) watch_ = start_thread([this] { follow(); });
  }
  LinkedStop(const LinkedStop&) = delete;
  LinkedStop& operator=(const LinkedStop&) = delete;
  ~LinkedStop() {
    if (!watch_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    ended_.notify_all();
    watch_.join();
  }

  void set() { flag_ = true; }
  /// Looks at `outer` now.
  void look() {
    if (outer_ != nullptr && outer_->load(std::memory_order_relaxed)) set();
  }
  const std::atomic<bool>* flag() const { return &flag_; }

 private:
  void follow() {
    constexpr std::chrono::milliseconds kBetween(50);
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kBetween, [this] { return over_; })) {
      look();
    }
  }

  const std::atomic<bool>* outer_;
  std::atomic<bool> flag_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread watch_;  // last, because it uses all the others
};

}  // namespace largo::runtime
