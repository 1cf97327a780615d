// Threads where the system may have none left.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "largo/runtime/check.hpp"

namespace largo {

/// A thread that runs `work`; InputError with a remedy where the system starts no more of them.
template <typename Work>
std::thread start_thread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    fail("largo", "one more thread cannot be started (" + error.code().message() +
                      "): raise the limit on processes (ulimit -u), or use fewer threads");
  }
}

}  // namespace largo
