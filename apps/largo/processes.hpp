// The processes of one command: this one, or all that mpirun or srun started. Each goes through the whole
// command with the same arguments, shares the work that the library can share, and has the same results; the
// first one prints them and writes the files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "largo/runtime/ranks.hpp"

namespace largo {

/// How a command ended on one process.
struct Outcome {
  int code = 0;         ///< the exit code
  std::string message;  ///< one line for standard error, or empty
  bool echo = false;    ///< failed because another process did
};

/// Prints "largo: message" on one line of standard error. Control characters are escaped, and words of more
/// than 100 bytes (from a long argument) lose their middle. If standard error cannot be written, only the
/// exit code is left.
void print_error(std::string_view message);

/// Takes the places of streams that the caller has closed, so that no file opened later becomes standard
/// output. Writing to them fails as before. Call it before anything else.
void hold_standard_streams();

/// Made once, by main, before anything is printed.
class Processes {
 public:
  Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  /// Waits for all processes, prints the message of the worst outcome once, and returns its code on every
  /// process.
  int end(const Outcome& outcome) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The ranks for Execution; null if there is only one process.
const Ranks* process_ranks();

/// Whether this process prints and writes files.
bool first_process();

/// The MPI in this build ("Open MPI v4.1.4"), or empty.
std::string mpi_in_this_build();

}  // namespace largo
