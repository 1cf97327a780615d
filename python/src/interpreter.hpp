// The interpreter's lock, released and taken so that threads survive the end of the interpreter.
//
// Up to version 3.13, when a thread asks for the lock while the interpreter goes away, Python ends it by
// unwinding its stack. Through C++ frames this means std::terminate, or destructors that touch Python objects
// without the lock. So no thread with such frames may be left when the interpreter goes away:
//   - Every call from Python is counted (count_calls). A hook at exit refuses new calls on all threads but
//     the one that ends the interpreter, stops those that run, and waits until they have returned.
//   - A call that has not returned by then, because it cannot be stopped or is inside a slow function of
//     the user's, never gets the lock again: its threads stand still, as Python 3.14 makes them, and the
//     process ends without them, and without destroying what they may read.
#pragma once

#include <utility>

#include <pybind11/pybind11.h>

namespace largo::python {

namespace py = pybind11;

/// From now on, the calls of all functions and methods of the module are counted; once another thread ends
/// the interpreter, they raise SystemExit instead.
void count_calls(const py::module_& module);

/// Holds the lock, on any thread.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Releases the lock, on a thread that has it.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

/// Calls function(arguments) with the lock; returns null if it raised. The call may take any time, and the
/// interpreter may go away meanwhile, so no C++ frame is between the frames of Python and the place where
/// this thread is held.
PyObject* call_or_stand_still(PyObject* function, PyObject* arguments);

/// Calls a function of the user's with the lock. Passes on what it raises.
template <typename... Arguments>
py::object call(const py::handle& function, Arguments&&... arguments) {
  const py::tuple given = py::make_tuple(std::forward<Arguments>(arguments)...);
  PyObject* result = call_or_stand_still(function.ptr(), given.ptr());
  if (result == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(result);
}

/// Once a thread ends the interpreter, raises SystemExit in calls of the other threads.
void refuse_at_exit();

/// Called with the lock, in the hook at exit: from now on, calls of other threads are refused.
void refuse_other_threads();
/// Whether calls of other threads are still running.
bool others_inside();
/// Called without the lock: from now on, no thread but this one gets it for largo. The process ends without
/// destructors.
void close_to_other_threads();

}  // namespace largo::python
