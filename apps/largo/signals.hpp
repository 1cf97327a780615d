// How a command ends after Ctrl-C, and after errors that nothing catches.
#pragma once

#include <atomic>
#include <stdexcept>

namespace largo {

/// Exit code of a command that any signal stopped; the same as the shell's for Ctrl-C.
constexpr int kStoppedCode = 130;

/// For Execution::stop. After the first call, the first SIGINT, SIGTERM or SIGHUP sets it, so that work ends
/// in order. The next signal of the same kind ends the program at once. Signals that are ignored (nohup) stay
/// ignored.
const std::atomic<bool>* stop_signal();

/// After this call, two sudden ends print one line on standard error and give exit code 1, instead of a
/// silent death or an abort: a file mapped into memory is cut short (SIGBUS), or nobody catches an exception,
/// as on a thread of oneTBB.
void report_sudden_ends();

/// A command was stopped, and has more to say than that nothing was written.
class StoppedCommand : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace largo
