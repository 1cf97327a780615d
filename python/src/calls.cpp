#include "calls.hpp"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace largo::python {
namespace {

using namespace std::chrono_literals;

constexpr auto kInterval = 50ms;

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
  {
    const py::gil_scoped_release release;
    std::thread worker([&] {
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
    lock.unlock();
    worker.join();
  }
  if (interruption) std::rethrow_exception(interruption);
  if (failure) std::rethrow_exception(failure);
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  if (!progress.is_none() && shown < 1) progress(1.0);
}

}  // namespace largo::python
