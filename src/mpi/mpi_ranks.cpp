#include "mpi/mpi_ranks.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

namespace largo::mpi {
namespace {

// Either all processes continue or all throw: one that gave up alone would leave the others waiting.
std::vector<double> allocate_together(std::int64_t count, MPI_Comm comm) {
  std::vector<double> values;
  int has_memory = 1;
  try {
    values.resize(static_cast<std::size_t>(count));
  } catch (const std::exception&) {
    has_memory = 0;
  }
  int all_have = 0;
  check_mpi(MPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN, comm), "MPI_Allreduce");
  if (all_have == 0) throw std::bad_alloc();
  return values;
}

}  // namespace

void check_mpi(int code, const char* function) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  std::string message = function;
  message += ": ";
  message.append(text, static_cast<std::size_t>(length));
  throw std::runtime_error(message);
}

bool wait(MPI_Request& request, const char* function, std::chrono::nanoseconds patience) {
  constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(10);
  constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(1);
  const auto start = std::chrono::steady_clock::now();
  while (true) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), function);
    if (done != 0) return true;
    const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - start;
    if (waited >= patience) return false;
    if (waited >= 8 * kShortest) std::this_thread::sleep_for(std::min(waited / 8, kLongest));
  }
}

Communicator::Communicator(MPI_Comm parent) {
  check_mpi(MPI_Comm_dup(parent, &comm_), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

Communicator::~Communicator() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended == 0) MPI_Comm_free(&comm_);
}

MpiRanks::MpiRanks(MPI_Comm parent, std::int64_t most) : comm_(parent), most_(most) {
  check_mpi(MPI_Comm_rank(comm_.get(), &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_.get(), &size_), "MPI_Comm_size");
  int level = MPI_THREAD_SINGLE;
  check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
  any_thread_ = level >= MPI_THREAD_SERIALIZED;
}

std::vector<double> MpiRanks::gather(std::span<const double> part) const {
  if (!any_thread_) {
    int main_thread = 0;
    check_mpi(MPI_Is_thread_main(&main_thread), "MPI_Is_thread_main");
    if (main_thread == 0) {
      throw std::runtime_error("MPI was started for one thread alone, and another calls it");
    }
  }
  const auto own = static_cast<std::int64_t>(part.size());
  const auto processes = static_cast<std::size_t>(size_);
  std::vector<std::int64_t> sizes(processes);
  std::vector<int> counts(processes), offsets(processes);
  // A process may wait here for a long time. Once all have arrived, only the transfer follows, for which
  // MPI's own way of waiting is faster.
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(&own, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, comm_.get(), &request),
            "MPI_Iallgather");
  wait(request, "MPI_Iallgather");
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::vector<double> all = allocate_together(total, comm_.get());

  if (total <= most_) {
    std::copy(sizes.begin(), sizes.end(), counts.begin());
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    check_mpi(MPI_Allgatherv(part.data(), static_cast<int>(own), MPI_DOUBLE, all.data(), counts.data(),
                             offsets.data(), MPI_DOUBLE, comm_.get()),
              "MPI_Allgatherv");
    return all;
  }
  double* next = all.data();
  for (int from = 0; from < size_; ++from) {
    if (from == rank_) std::copy(part.begin(), part.end(), next);
    for (std::int64_t left = sizes[static_cast<std::size_t>(from)]; left > 0;) {
      const std::int64_t piece = std::min(left, most_);
      check_mpi(MPI_Bcast(next, static_cast<int>(piece), MPI_DOUBLE, from, comm_.get()), "MPI_Bcast");
      next += piece;
      left -= piece;
    }
  }
  return all;
}

}  // namespace largo::mpi
