#include "interpreter.hpp"

#include <cxxabi.h>
#include <unistd.h>

namespace largo::python {
namespace {

[[noreturn]] void stand_still() {
  while (true) ::pause();
}

// take(), or nothing ever again.
template <typename Take>
void take_or_stand_still(const Take& take) {
  if (Py_IsInitialized() == 0) stand_still();
  try {
    take();
  } catch (abi::__forced_unwind&) {
    stand_still();
  }
}

}  // namespace

Locked::Locked() {
  take_or_stand_still([this] { state_ = PyGILState_Ensure(); });
}

Locked::~Locked() { PyGILState_Release(state_); }

Unlocked::~Unlocked() {
  take_or_stand_still([this] { PyEval_RestoreThread(state_); });
}

}  // namespace largo::python
