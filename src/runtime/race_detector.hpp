// Tells ThreadSanitizer what oneTBB guarantees but does not show, as it is not instrumented: what comes
// before a parallel loop happens before each of its tasks, and the tasks happen before what follows the loop.
// Without this, every loop is reported as a race. In other builds these functions are empty.
#pragma once

#include <exception>
#include <thread>

#if defined(__SANITIZE_THREAD__)
#define LARGO_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LARGO_THREAD_SANITIZER 1
#endif
#endif

#ifdef LARGO_THREAD_SANITIZER
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace largo::runtime::race_detector {

#ifdef LARGO_THREAD_SANITIZER
inline char forked;
inline char joined;
inline void fork() { __tsan_release(&forked); }
inline void task_begins() { __tsan_acquire(&forked); }
inline void task_ends() { __tsan_release(&joined); }
inline void join() { __tsan_acquire(&joined); }
#else
inline void fork() {}
inline void task_begins() {}
inline void task_ends() {}
inline void join() {}
#endif

/// Calls work(), under ThreadSanitizer on a thread that ends with it. oneTBB keeps the count of a loop's open
/// tasks on the stack of the thread that waits for them, and a worker's last access to that count is one that
/// ThreadSanitizer never sees ordered: on a stack that goes on, whatever uses the place next seems to race.
template <typename Work>
void on_a_stack_of_its_own(const Work& work) {
#ifdef LARGO_THREAD_SANITIZER
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
#else
  work();
#endif
}

// A loop and one of its tasks; either may end by an exception.
struct Loop {
  Loop() { fork(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { join(); }
};
struct Task {
  Task() { task_begins(); }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() { task_ends(); }
};
// A stage of a pipeline: whatever ended before it, in any stage, happens before it.
struct Stage {
  Stage() {
    task_begins();
    join();
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage() { task_ends(); }
};

}  // namespace largo::runtime::race_detector
