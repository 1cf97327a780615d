// The processes of an MPI communicator as Ranks.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "largo/runtime/ranks.hpp"

namespace largo::mpi {

/// Throws std::runtime_error "function: what MPI says" unless `code` is success.
void check_mpi(int code, const char* function);

/// Waits until `request` is done or `patience` has passed, and returns whether it is done. MPI's own waiting
/// takes a whole core, which the threads of another process may need. Here a process sleeps for an eighth of
/// the time it has waited so far, up to a millisecond.
bool wait(MPI_Request& request, const char* function,
          std::chrono::nanoseconds patience = std::chrono::nanoseconds::max());

/// Our own communicator over the processes of another. It reports errors instead of ending the program.
class Communicator {
 public:
  explicit Communicator(MPI_Comm parent);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

class MpiRanks final : public Ranks {
 public:
  /// MPI counts in int: if there are more than `most` doubles in all, they are sent in pieces of `most`.
  /// (Tests make it small.)
  explicit MpiRanks(MPI_Comm parent, std::int64_t most = std::numeric_limits<int>::max());

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<double> gather(std::span<const double> part) const override;

 private:
  Communicator comm_;
  std::int64_t most_;
  int rank_ = 0;
  int size_ = 1;
  bool any_thread_ = false;
};

}  // namespace largo::mpi
