#include "progress.hpp"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include <fmt/core.h>

#include "processes.hpp"

namespace largo {
namespace {

constexpr double kFirstShown = 0.5;  // seconds: short work shows nothing
constexpr double kBetween = 0.1;

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)),
      terminal_(first_process() && ::isatty(STDERR_FILENO) == 1),
      start_(Clock::now()),
      last_(start_) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressLine::show(double share) {
  if (!terminal_) return;
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  if (elapsed < kFirstShown || std::chrono::duration<double>(now - last_).count() < kBetween) return;
  last_ = now;
  shown_ = true;
  const double rate = share / elapsed;
  // fmt::print would throw if it cannot write, and a terminal that is gone must not end the work.
  const std::string line = fmt::format("\r\x1b[K{}: {:.0f} %, {:.2g} % a second, {} left", what_, 100 * share,
                                       100 * rate, duration((1 - share) / rate));
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace largo
