// MPI: the processes that mpirun or srun started, as Ranks. This is in the library largo::mpi; largo::largo
// itself does not need MPI.
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

/// Starts MPI, and ends it at the end of its scope. If the program has started MPI itself, the session uses
/// that and leaves it running. It has communicators of its own, so that its messages do not mix with those of
/// the program.
///
/// Threads: the session asks for MPI_THREAD_SERIALIZED. Only the thread that calls into largo uses MPI,
/// outside all parallel loops; it need not be the thread that made the session. If MPI grants less (a program
/// that called plain MPI_Init), it must be the thread that started MPI, and gather refuses any other.
///
/// Failures: an exception inside a computation of largo ends that computation on all processes, each with an
/// exception. Catch it inside the scope of the session and continue. An exception that leaves the scope means
/// that this process will never again answer the others. If all processes leave within two seconds (because
/// all refused the same input, for example), the session ends normally and the exception propagates.
/// Otherwise some may be waiting for this one for ever, and MPI_Abort ends every process at once. It cannot
/// print the message of the exception.
class MpiSession {
 public:
  /// All processes call it together. Throws std::runtime_error if MPI was already ended (it starts only once
  /// in a process) or cannot make a communicator.
  MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// Waits for all processes.
  ~MpiSession();

  /// Lives as long as the session. gather sends two small messages and the parts, any number of doubles
  /// (beyond 2^31 - 1 in all, in pieces). It throws std::runtime_error with MPI's own message if MPI fails,
  /// and std::bad_alloc on all processes if one of them has no memory for the result.
  const Ranks& ranks() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether a launcher (mpirun, mpiexec, srun) started this process as one of several. It looks only at the
/// environment, because starting MPI takes tenths of a second and a program that is alone does not need it.
/// False if the launcher says that it started only one process, so that a script run by it can call largo
/// many times.
bool started_by_mpi();

/// The name of the MPI library, for example "Open MPI v4.1.4". Does not need a session.
std::string mpi_library();

}  // namespace largo
