// MPI: the processes that mpirun or srun started, as Ranks. In the library largo::mpi; largo::largo itself
// does not need MPI.
//
//   largo::MpiSession session;
//   const auto gradient = largo::regression_gradient(task, parameters, batch, {.ranks = &session.ranks()});
//
// Every process returns the same gradient, with the same bits as one process alone.
#pragma once

#include <memory>
#include <string>

#include "largo/runtime/ranks.hpp"

namespace largo {

/// Starts MPI, and ends it with its scope; where the program has started MPI itself, uses that and leaves it
/// running. Speaks over communicators of its own, so that nothing mixes with the program's messages.
///
/// Threads: MPI_THREAD_SERIALIZED is asked for. Only the thread that calls into largo talks to MPI, outside
/// all parallel loops, but it need not be the one that made the session. Where MPI grants less (a program
/// that called plain MPI_Init), it has to be the thread that started MPI, and gather refuses any other.
///
/// Failures: an exception inside a computation of largo ends that computation on all processes, each with an
/// exception; catch it inside the scope of the session and go on. One that leaves the scope means that this
/// process will never again answer the others. If all of them leave within two seconds (all refused the same
/// input, say), the session ends in peace and the exception goes on; otherwise some may be waiting for this
/// one for ever, and MPI_Abort ends every process at once. It cannot print what the exception says.
class MpiSession {
 public:
  /// All processes together. Throws std::runtime_error when MPI was already ended (it starts once in a
  /// process) or cannot make a communicator.
  MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// Waits for all processes.
  ~MpiSession();

  /// Lives as long as the session. gather: two small messages and the parts, any number of doubles (beyond
  /// 2^31 - 1 in all, by pieces); throws std::runtime_error with MPI's own words when MPI fails, and
  /// std::bad_alloc, on all processes, when one of them has no memory for the result.
  const Ranks& ranks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether a launcher (mpirun, mpiexec, srun) started this process as one of several. Looks at the
/// environment alone: to start MPI takes tenths of a second, and a program need not when it is alone. False
/// where the launcher says that it started one process only, so that a script below it can call largo many
/// times.
bool started_by_mpi();

/// "Open MPI v4.1.4", say. Does not need a session.
std::string mpi_library();

}  // namespace largo
