#include "threads.hpp"

#include <algorithm>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <oneapi/tbb/info.h>

#include "largo/runtime/check.hpp"

namespace largo {
namespace {

constexpr int kOfFonts = 4;  // threads that Pango starts to look for fonts

struct Trial {
  int started = 0;
  std::string refusal;  // why no more could be started; empty if all were
};

// Starts `count` threads, all alive at the same time.
Trial try_threads(int count) {
  std::latch all_tried(1);
  std::vector<std::thread> started;
  Trial trial;
  try {
    while (std::ssize(started) < count) started.emplace_back([&] { all_tried.wait(); });
  } catch (const std::system_error& error) {
    trial.refusal = error.code().message();
  }
  trial.started = static_cast<int>(started.size());
  all_tried.count_down();
  for (std::thread& thread : started) thread.join();
  return trial;
}

}  // namespace

void check_threads(int threads) {
  if (threads == 1) return;
  // oneTBB has a pool of at least one thread per core, and one more waits for Ctrl-C.
  const int pool = std::max(threads, tbb::info::default_concurrency());
  const Trial trial = try_threads(pool - 1 + 1 + kOfFonts);
  if (trial.refusal.empty()) return;
  fail("--threads",
       fmt::format("cannot start {} threads and a few helper threads, only {} in all ({}): raise the limit "
                   "on processes (ulimit -u), or use --threads 1, which gives the same results",
                   pool, trial.started + 1, trial.refusal));
}

void check_threads_of_fonts(const char* function) {
  const Trial trial = try_threads(kOfFonts);
  if (trial.refusal.empty()) return;
  fail(function,
       fmt::format("looking for fonts needs {} threads, but only {} can be started ({}): raise the limit on "
                   "processes (ulimit -u), or write a .svg file",
                   kOfFonts, trial.started, trial.refusal));
}

}  // namespace largo
