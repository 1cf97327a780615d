// Who is where when the interpreter ends: for the guards of interpreter.hpp and the calls of calls.hpp alone.
#pragma once

namespace largo::python {

/// This thread leaves the code of the module for a while: for long work without the lock, or for a function
/// of the user's. Where the interpreter has gone away meanwhile, it never comes back.
class Away {
 public:
  Away();
  ~Away();
  Away(const Away&) = delete;
  Away& operator=(const Away&) = delete;
};

}  // namespace largo::python
