// The interpreter's lock, given back and taken so that a thread survives the end of the interpreter.
//
// Python 3 ends a thread that asks for the lock while the interpreter goes away, by unwinding its stack:
// through C++ that is std::terminate, or destructors that touch objects of Python without the lock. These
// guards stop such a thread where it stands, as Python 3.14 does itself; the process ends without it.
#pragma once

#include <pybind11/pybind11.h>

namespace largo::python {

/// With the lock, on any thread.
class Locked {
 public:
  Locked();
  ~Locked();
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Without the lock, on a thread that has it.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

}  // namespace largo::python
