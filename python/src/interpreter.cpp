#include "interpreter.hpp"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "door.hpp"

namespace largo::python {
namespace {

/// Never destroyed, because threads read it until the process is gone.
struct Door {
  std::atomic<int> inside = 0;         ///< threads on which a call from Python runs
  std::atomic<int> asking = 0;         ///< threads about to get the lock
  std::atomic<int> busy = 0;           ///< frames of the module that run with the lock, or are about to again
  std::atomic<bool> refusing = false;  ///< refuses the calls of all threads but `exiting`
  std::atomic<bool> closed = false;    ///< nobody but `exiting` gets the lock any more
  std::atomic<std::thread::id> exiting = {};
};

/// The nesting depth of calls from Python, and of callbacks to it, on this thread.
thread_local int depth = 0;
/// Whether the outermost of them was a call, so that this is a thread of Python, not one that works for a
/// call.
thread_local bool counted_here = false;
/// This thread's part of Door::busy.
thread_local int busy_here = 0;

Door& door() {
  static Door* one = [] {
    // A forked process has one thread.
    ::pthread_atfork(nullptr, nullptr, [] {
      door().inside = counted_here ? 1 : 0;
      door().asking = 0;
      door().busy = busy_here;
    });
    return new Door();
  }();
  return *one;
}

// For work that is short, but on a busy machine.
constexpr std::chrono::seconds kLongPatience(20);

void add_busy(int frames) {
  busy_here += frames;
  door().busy += frames;
}

bool is_exiting_thread() { return door().exiting.load() == std::this_thread::get_id(); }

[[noreturn]] void stand_still() {
  add_busy(-busy_here);
  while (true) ::pause();
}

// Calls take(), or never returns. Whoever closes the door waits for those who ask; after that, nobody does.
template <typename Take>
void take_lock(const Take& take) {
  ++door().asking;
  if (door().closed && !is_exiting_thread()) {
    --door().asking;
    stand_still();
  }
  take();
  --door().asking;
}

bool is_refused() { return door().refusing && !is_exiting_thread(); }

PyCFunctionWithKeywords dispatch = nullptr;  ///< pybind11's function

// pybind11 makes a bound function into a C function that dispatches to it. This one is called before it, so
// that no C++ runs uncounted, including the conversion of arguments and results.
PyObject* counted(PyObject* self, PyObject* arguments, PyObject* named) {
  // A call from within a callback is part of a call that is already counted, on whichever thread.
  const bool outermost = depth == 0;
  add_busy(1);
  if (is_refused() && (outermost || door().closed)) {
    add_busy(-1);
    PyErr_SetNone(PyExc_SystemExit);
    return nullptr;
  }
  if (outermost && door().closed) {
    add_busy(-1);
    PyErr_SetString(PyExc_RuntimeError, "largo: other threads are in calls that cannot be stopped");
    return nullptr;
  }
  if (outermost) {
    ++door().inside;
    counted_here = true;
  }
  ++depth;
  PyObject* result = dispatch(self, arguments, named);
  --depth;
  if (outermost) {
    counted_here = false;
    --door().inside;
  }
  add_busy(-1);
  return result;
}

PyCFunctionWithKeywords with_keywords(PyCFunction function) {
  return reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef& method_of(py::handle function) {
  return *reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
}

void count_calls_of(PyObject* value) {
  if (PyInstanceMethod_Check(value)) value = PyInstanceMethod_GET_FUNCTION(value);
  if (PyCFunction_Check(value) == 0 || with_keywords(method_of(value).ml_meth) != dispatch) return;
  method_of(value).ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&counted));
}

}  // namespace

void count_calls(const py::module_& module) {
  dispatch = with_keywords(method_of(py::cpp_function([] {})).ml_meth);
  for (const auto& [name, value] : py::dict(module.attr("__dict__"))) {
    count_calls_of(value.ptr());
    if (PyType_Check(value.ptr()) == 0) continue;
    for (const auto& [method, one] : py::dict(value.attr("__dict__"))) {
      const bool property = PyObject_TypeCheck(one.ptr(), &PyProperty_Type) != 0;
      count_calls_of(property ? py::object(one.attr("fget")).ptr() : one.ptr());
    }
  }
}

void refuse_at_exit() {
  if (!counted_here || !is_refused()) return;
  PyErr_SetNone(PyExc_SystemExit);
  throw py::error_already_set();
}

Locked::Locked() {
  add_busy(1);
  const auto take = [this] { state_ = PyGILState_Ensure(); };
  if (PyGILState_Check() != 0) {  // a thread that has the lock does not wait for it
    take();
  } else {
    take_lock(take);
  }
  ++depth;
}

Locked::~Locked() {
  --depth;
  add_busy(-1);
  PyGILState_Release(state_);
}

Unlocked::~Unlocked() {
  take_lock([this] { PyEval_RestoreThread(state_); });
}

PyObject* call_or_stand_still(PyObject* function, PyObject* arguments) {
  const Away away;
  try {
    return PyObject_CallObject(function, arguments);
  } catch (abi::__forced_unwind&) {
    stand_still();
  }
}

void refuse_other_threads() {
  door().exiting = std::this_thread::get_id();
  door().refusing = true;
}

bool others_inside() { return door().inside > (counted_here ? 1 : 0); }

Away::Away() { add_busy(-1); }

Away::~Away() {
  add_busy(1);
  if (!door().closed || is_exiting_thread()) return;
  if (PyGILState_Check() != 0) PyEval_SaveThread();
  stand_still();
}

// Returns when no thread is about to get the lock, and none runs code of the module with it, which is short.
void close_to_other_threads() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + kLongPatience;
  door().closed = true;
  while ((door().asking > 0 || door().busy > busy_here) && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
#ifdef __GLIBC__
  // The others may compute for ever, and what they read must not be destroyed: exits before all destructors.
  ::on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        ::_exit(status);
      },
      nullptr);
#endif
}

}  // namespace largo::python
