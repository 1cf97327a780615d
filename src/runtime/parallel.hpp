// Threads by oneTBB. The loops here only distribute independent work. Every reduction in largo has a fixed
// order of its own, because the bits of tbb::parallel_reduce change from run to run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "largo/runtime/check.hpp"
#include "largo/runtime/execution.hpp"
#include "runtime/race_detector.hpp"

namespace largo::runtime {

inline constexpr int kMostThreads = 4096;

inline int thread_count(const Execution& execution) {
  if (execution.threads < 0 || execution.threads > kMostThreads) {
    fail("Execution", "threads", execution.threads, "between 0 (all cores) and 4096");
  }
  return execution.threads > 0 ? execution.threads : tbb::this_task_arena::max_concurrency();
}

/// An arena of the calling thread, kept for its next loops: a new one costs 10 µs and finds its workers
/// asleep. A loop inside another one on the same thread gets an arena of its own: otherwise the inner loop,
/// while it waits for its own tasks, could take up tasks of the outer one.
class ThreadArena {
 public:
  explicit ThreadArena(int threads) {
    if (depth()++ == 0) {
      thread_local std::map<int, tbb::task_arena> arenas;
      arena_ = &arenas.try_emplace(threads, threads).first->second;
    } else {
      arena_ = &own_.emplace(threads);
    }
  }
  ThreadArena(const ThreadArena&) = delete;
  ThreadArena& operator=(const ThreadArena&) = delete;
  ~ThreadArena() { --depth(); }

  template <typename Work>
  void execute(const Work& work) {
    arena_->execute(work);
  }

 private:
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }

  std::optional<tbb::task_arena> own_;
  tbb::task_arena* arena_;
};

/// Runs work(), whose tasks use at most execution.threads threads.
template <typename Work>
void run_with_threads(const Execution& execution, const Work& work) {
  // By default oneTBB caps its pool at the number of cores and says so on standard error, even if the caller
  // asked for more.
  const int threads = thread_count(execution);
  const tbb::global_control pool(
      tbb::global_control::max_allowed_parallelism,
      static_cast<std::size_t>(std::max(threads, tbb::info::default_concurrency())));
  ThreadArena arena(threads);
  const runtime::race_detector::Loop loop;
  runtime::race_detector::on_a_stack_of_its_own([&] { arena.execute(work); });
}

/// Calls body(i) for i in [0, count), each index exactly once, on at most execution.threads threads.
template <typename Body>
void parallel_for(std::ptrdiff_t count, const Execution& execution, const Body& body) {
  if (thread_count(execution) == 1 || count <= 1) {
    for (std::ptrdiff_t i = 0; i < count; ++i) body(i);
    return;
  }
  const auto task = [&body](std::ptrdiff_t i) {  // made before the loop begins, for the race detector
    const runtime::race_detector::Task one;
    body(i);
  };
  run_with_threads(execution, [&] { tbb::parallel_for(std::ptrdiff_t{0}, count, task); });
}

/// Starts a thread that runs `work`. InputError with a remedy if the system cannot start another one.
template <typename Work>
std::thread start_thread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    fail("largo", "one more thread cannot be started (" + error.code().message() +
                      "): raise the limit on processes (ulimit -u), or use fewer threads");
  }
}

}  // namespace largo::runtime
