// Which threads are in the module when the interpreter ends: only for the guards of interpreter.hpp and the
// calls of calls.hpp.
#pragma once

namespace largo::python {

/// This thread leaves the code of the module for a while, for long work without the lock or for a function of
/// the user's. If the interpreter has gone away meanwhile, the thread never comes back.
class Away {
 public:
  Away();
  ~Away();
  Away(const Away&) = delete;
  Away& operator=(const Away&) = delete;
};

}  // namespace largo::python
