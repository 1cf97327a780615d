#include "threads.hpp"

#include <algorithm>
#include <latch>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <oneapi/tbb/info.h>

#include "largo/numerics/check.hpp"

namespace largo {

void check_threads(int threads) {
  // oneTBB has a pool of at least one thread per core.
  const int wanted = std::max(threads, tbb::info::default_concurrency());
  if (threads == 1 || wanted == 1) return;
  std::latch all_tried(1);  // each waits until the last has been started: they must all be there at once
  std::vector<std::thread> started;
  std::string refusal;
  try {
    while (std::ssize(started) + 1 < wanted) started.emplace_back([&] { all_tried.wait(); });
  } catch (const std::system_error& error) {
    refusal = error.code().message();
  }
  all_tried.count_down();
  for (std::thread& thread : started) thread.join();
  if (refusal.empty()) return;
  fail("--threads",
       fmt::format("of {} threads only {} can be started ({}): raise the limit on processes (ulimit "
                   "-u), or use --threads 1, which gives the same results",
                   wanted, started.size() + 1, refusal));
}

}  // namespace largo
