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
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);  // ignored under nohup, say
  }
  return true;
}

// May do next to nothing: no memory, no streams, no locks.
void end_on_bus_error(int) {
  static std::atomic_flag said;
  while (said.test_and_set()) ::pause();  // another thread is ending the program
  constexpr char kLine[] =
      "largo: a file that was being read was cut short, or its disk failed (SIGBUS): run the command again, "
      "and "
      "leave the file alone meanwhile\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine, sizeof kLine - 1);
  ::_exit(1);
}

[[noreturn]] void end_on_uncaught() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
    print_error("something went wrong that nothing is known of");
  } catch (const std::exception& error) {
    print_error(error.what());
  } catch (...) {
    print_error("something unknown was thrown");
  }
  ::_exit(1);
}

}  // namespace

void report_sudden_ends() {
  struct sigaction action {};
  action.sa_handler = end_on_bus_error;
  ::sigaction(SIGBUS, &action, nullptr);
  // A limit on the size of files is then an error of writing, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(end_on_uncaught);
}

const std::atomic<bool>* stop_signal() {
  [[maybe_unused]] static const bool once =
      listen();  // again, and a second Ctrl-C would be another first one
  return &stop_asked;
}

}  // namespace largo
