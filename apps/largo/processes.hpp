// The processes of one command: this one, or all that mpirun or srun started. Each goes through the whole
// command with the same arguments, shares the work that the library can share, and has the same results; the
// first one prints them and writes the files.
#pragma once

#include <memory>
#include <string>

#include "largo/numerics/ranks.hpp"

namespace largo {

/// How a command ended on one process.
struct Outcome {
  int code = 0;         ///< the exit code
  std::string message;  ///< one line for standard error, or empty
  bool echo = false;    ///< fails because another process did
};

/// Made once, by main, before anything is printed.
class Processes {
 public:
  Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  /// Waits for all, prints the message of the worst outcome once, and returns its code, the same everywhere.
  int end(const Outcome& outcome) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// For Execution; null for one process alone.
const Ranks* process_ranks();

/// Whether this process prints and writes files.
bool first_process();

/// The MPI in this build ("Open MPI v4.1.4"), or empty.
std::string mpi_in_this_build();

}  // namespace largo
