#include "signals.hpp"

#include <unistd.h>

#include <csignal>
#include <exception>

#include "processes.hpp"

namespace largo {
namespace {

std::atomic<bool> stop_asked = false;
static_assert(std::atomic<bool>::is_always_lock_free);

bool listen() {
  struct sigaction action {};
  action.sa_handler = [](int) { stop_asked = true; };
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);  // ignored under nohup
  }
  return true;
}

// A signal handler may do almost nothing: no memory, no streams, no locks.
void end_on_bus_error(int) {
  static std::atomic_flag said;
  while (said.test_and_set()) ::pause();  // another thread is ending the program
  constexpr char kLine[] =
      "largo: a file was cut short while it was read, or its disk failed (SIGBUS): run the command again, "
      "and do not change the file meanwhile\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine, sizeof kLine - 1);
  ::_exit(1);
}

[[noreturn]] void end_on_uncaught() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
    print_error("the program ended for an unknown reason");
  } catch (const std::exception& error) {
    print_error(error.what());
  } catch (...) {
    print_error("an unknown exception was thrown");
  }
  ::_exit(1);
}

}  // namespace

void report_sudden_ends() {
  struct sigaction action {};
  action.sa_handler = end_on_bus_error;
  ::sigaction(SIGBUS, &action, nullptr);
  // A limit on the size of files then makes writing fail, as a full disk does.
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(end_on_uncaught);
}

const std::atomic<bool>* stop_signal() {
  [[maybe_unused]] static const bool once =
      listen();  // once: otherwise a second Ctrl-C would count as the first
  return &stop_asked;
}

}  // namespace largo
