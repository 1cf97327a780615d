#include "signals.hpp"

#include <csignal>

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

}  // namespace

const std::atomic<bool>* stop_signal() {
  [[maybe_unused]] static const bool once =
      listen();  // again, and a second Ctrl-C would be another first one
  return &stop_asked;
}

}  // namespace largo
