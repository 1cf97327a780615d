#include "calls.hpp"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace largo::python {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 50ms;

/// A thread that runs one job after the other. New threads for each call would cost 50 µs, and oneTBB keeps
/// some kilobytes of each for good.
class Worker {
 public:
  Worker() {
    std::thread([this] { serve(); }).detach();  // it ends with the process
  }

  void run(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
    given_.notify_one();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      given_.wait(lock, [this] { return job_ != nullptr; });
      const std::function<void()> job = std::exchange(job_, nullptr);
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable given_;
  std::function<void()> job_;
};

/// Workers without a job; as many are made as calls run at once, and none is ever destroyed. Guarded by the
/// interpreter's lock.
std::vector<Worker*>& idle_workers() {
  static auto* idle = [] {
    // A process that forks has their memory, and not their threads.
    ::pthread_atfork(nullptr, nullptr, [] { idle_workers().clear(); });
    return new std::vector<Worker*>();
  }();
  return *idle;
}

Worker* take_worker() {
  std::vector<Worker*>& idle = idle_workers();
  if (idle.empty()) return new Worker();
  Worker* worker = idle.back();
  idle.pop_back();
  return worker;
}

/// With the lock: what Python wants to be said and done while the work goes on. Throws error_already_set.
void attend_to_python(const py::object& progress, const Call& call, double& shown) {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  const double share = call.share();
  if (progress.is_none() || share <= shown) return;
  shown = share;
  progress(share);
}

}  // namespace

void watch(const py::object& progress, int threads, const std::function<void(Call&)>& work) {
  Call call(threads);
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr failure, interruption;
  double shown = 0;
  Worker* worker = take_worker();
  {
    const py::gil_scoped_release release;
    worker->run([&] {
      try {
        work(call);
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      done = true;
      ended.notify_one();
    });
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, kInterval, [&] { return done; })) {
      lock.unlock();
      if (!interruption) {
        const py::gil_scoped_acquire acquire;
        try {
          attend_to_python(progress, call, shown);
        } catch (...) {
          interruption = std::current_exception();
          call.stop();
        }
      }
      lock.lock();
    }
  }
  idle_workers().push_back(worker);
  if (interruption) std::rethrow_exception(interruption);
  if (failure) std::rethrow_exception(failure);
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (!progress.is_none() && shown < 1) progress(1.0);
}

}  // namespace largo::python
