// Progress of long work, on one line of standard error that is rewritten, only if that is a terminal.
#pragma once

#include <chrono>
#include <string>

namespace largo {

class ProgressLine {
 public:
  explicit ProgressLine(std::string what);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();  ///< clears the line

  /// Shows "what: 41 %, 3.2 % a second, 18 s left", at most ten times a second.
  void show(double share);

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool terminal_, shown_ = false;
  Clock::time_point start_, last_;
};

}  // namespace largo
