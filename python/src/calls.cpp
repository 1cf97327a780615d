#include "calls.hpp"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "door.hpp"

namespace largo::python {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 50ms;
// When the interpreter ends, a call that has not returned within kPatience is left behind.
constexpr auto kPatience = 2000ms, kLook = 2ms;

/// A thread that runs one job after another. A new thread for each call would cost 50 µs, and oneTBB keeps
/// some kilobytes for each for good.
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

/// All of this is guarded by the interpreter's lock.
struct State {
  std::vector<Worker*> idle;  ///< as many are made as calls run at once, and none is destroyed
  std::set<Call*> running;    ///< on any thread of Python
};

State& state() {
  static auto* all = [] {
    // A forked process has the memory of these threads and calls, but the threads do not run there.
    ::pthread_atfork(nullptr, nullptr, [] {
      state().idle.clear();
      state().running.clear();
    });
    return new State();
  }();
  return *all;
}

Worker* take_worker() {
  std::vector<Worker*>& idle = state().idle;
  if (idle.empty()) return new Worker();
  Worker* worker = idle.back();
  idle.pop_back();
  return worker;
}

/// Called with the lock while the work goes on: lets Python handle signals, and shows progress. Throws
/// error_already_set.
void attend_to_python(const py::object& progress, const Call& call, double& shown) {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  const double share = call.share();
  if (progress.is_none() || share <= shown) return;
  shown = share;
  python::call(progress, share);
}

}  // namespace

void watch(const py::object& progress, int threads, const std::function<void(Call&)>& work) {
  refuse_at_exit();  // a call made after the hook has stopped all calls would not be stopped
  Call call(threads);
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr failure, interruption;
  double shown = 0;
  Worker* worker = take_worker();
  state().running.insert(&call);
  {
    const Unlocked guard;
    const Away away;
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
        const Locked locked;
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
  state().running.erase(&call);
  state().idle.push_back(worker);
  if (interruption) std::rethrow_exception(interruption);
  if (call.stopped()) refuse_at_exit();
  if (failure) std::rethrow_exception(failure);
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (!progress.is_none() && shown < 1) python::call(progress, 1.0);
}

void stop_calls_at_exit() {
  const auto stop = [] {
    refuse_other_threads();
    for (Call* call : state().running) call->stop();
    const Unlocked guard;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (others_inside()) {
      if (std::chrono::steady_clock::now() > deadline) return close_to_other_threads();
      std::this_thread::sleep_for(kLook);
    }
  };
  py::module_::import("atexit").attr("register")(py::cpp_function(stop));
}

}  // namespace largo::python
