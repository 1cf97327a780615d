#include "runtime/watched_work.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/distribute.hpp"
#include "runtime/parallel.hpp"

namespace largo::runtime {
namespace {

constexpr std::chrono::milliseconds kBetween(100);  // between two meetings

// The work of this process, on a thread of its own. The destructor always waits for its end.
class Worker {
 public:
  explicit Worker(std::function<void(Worker&)> work)
      : thread_(start_thread([this, work = std::move(work)] { run(work); })) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    stop = true;
    thread_.join();
  }

  /// Waits for at most `patience`, and returns whether the work is over.
  bool wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, patience, [this] { return over_; });
  }
  const std::exception_ptr& error() const { return error_; }  ///< valid once the work is over

  std::atomic<bool> stop = false;
  std::atomic<double> share = 0;

 private:
  void run(const std::function<void(Worker&)>& work) {
    try {
      work(*this);
    } catch (...) {
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    over_ = true;
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::exception_ptr error_;
  std::thread thread_;  // last, because it uses all the others
};

}  // namespace

void watch_work(const Execution& execution, double weight, const ShowShare& progress,
                const std::function<void(const Execution& own, const ShowShare& show)>& work) {
  Execution own = execution;
  own.ranks = nullptr;
  if (execution.ranks == nullptr || execution.ranks->size() == 1) return work(own, progress);
  Worker worker([&](Worker& self) {
    own.stop = &self.stop;
    work(own, [&](double share) { self.share = share; });
  });
  for (bool all_over = false; !all_over;) {
    const bool over = worker.wait(kBetween);
    if (execution.stop != nullptr && execution.stop->load(std::memory_order_relaxed)) worker.stop = true;
    if (over && worker.error()) {
      gather_rows({}, true, execution);
      std::rethrow_exception(worker.error());
    }
    const double share = over ? 1 : worker.share.load();
    const AlignedVector<double> all =
        gather_rows({over ? 1.0 : 0.0, weight * share, weight}, false, execution);
    all_over = true;
    double done = 0, in_all = 0;
    for (std::size_t i = 0; i < all.size(); i += 3) {
      all_over = all_over && all[i] == 1;
      done += all[i + 1];
      in_all += all[i + 2];
    }
    if (progress && execution.ranks->rank() == 0 && in_all > 0) progress(done / in_all);
  }
}

}  // namespace largo::runtime
