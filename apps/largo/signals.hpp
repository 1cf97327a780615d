// Ctrl-C, and how a command ends after it; and ends that nobody asked for.
#pragma once

#include <atomic>
#include <stdexcept>

namespace largo {

/// Of a command that was stopped, by any signal; as the shell has it for Ctrl-C.
constexpr int kStoppedCode = 130;

/// For Execution::stop: set by the first SIGINT, SIGTERM or SIGHUP from the first call on, so that work ends
/// in order. The next one of the same kind ends the program at once. Signals that are ignored (nohup) stay
/// so.
const std::atomic<bool>* stop_signal();

/// From here on, one line on standard error and exit code 1 instead of a silent death or an abort: where a
/// file that is mapped into memory is cut short under us (SIGBUS), and where an exception has nobody to catch
/// it, as on a thread of oneTBB's.
void report_sudden_ends();

/// A command was stopped, and says more than that nothing was written.
class StoppedCommand : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace largo
