#include "largo/mpi/mpi_session.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string_view>

#include "mpi/mpi_ranks.hpp"

namespace largo {
namespace {

// How long a process that leaves with an exception waits for the others to leave as well.
constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds(2);

// Starts MPI; returns false if it was running already.
bool start_mpi() {
  int started = 0;
  int ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (ended != 0) throw std::runtime_error("MpiSession: MPI was ended, and starts only once in a process");
  if (started != 0) return false;
  int level = MPI_THREAD_SINGLE;
  mpi::check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
  return true;
}

// Returns true once all processes have called it; if hurried, returns false after kPatience at the latest.
bool wait_for_all(const mpi::Communicator& comm, bool hurried) noexcept {
  try {
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check_mpi(MPI_Ibarrier(comm.get(), &request), "MPI_Ibarrier");
    return mpi::wait(request, "MPI_Ibarrier", hurried ? kPatience : std::chrono::nanoseconds::max());
  } catch (const std::exception&) {
    return false;
  }
}

const char* first_set(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return value;
  }
  return nullptr;
}

}  // namespace

struct MpiSession::State {
  bool started_here = start_mpi();
  int exceptions = std::uncaught_exceptions();
  mpi::MpiRanks ranks{MPI_COMM_WORLD};
  mpi::Communicator farewell{MPI_COMM_WORLD};  // separate, since others may be in the middle of a gather
};

MpiSession::MpiSession() : state_(std::make_unique<State>()) {}

MpiSession::~MpiSession() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended != 0) return;  // ended by the program that started it
  const bool failing = std::uncaught_exceptions() > state_->exceptions;
  if (!wait_for_all(state_->farewell, failing)) {
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
  }
  const bool started_here = state_->started_here;
  state_.reset();
  if (started_here) MPI_Finalize();
}

const Ranks& MpiSession::ranks() const { return state_->ranks; }

bool started_by_mpi() {
  // Open MPI; MPICH, Intel MPI and srun with PMI-1 or PMI-2; MVAPICH
  const char* size = first_set({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"});
  // PMIx does not tell the number of processes; srun does. Neither is a sign without the other: a program
  // that starts MPI without a launcher passes PMIX_RANK to its children, and an srun without any PMI starts
  // unrelated processes.
  if (size == nullptr && first_set({"PMIX_RANK", "PMI_RANK", "PMI_FD"}) != nullptr) {
    size = first_set({"SLURM_STEP_NUM_TASKS"});
  }
  return size != nullptr && std::string_view(size) != "1";
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) return "unknown";
  const std::string_view all(text.data(), static_cast<std::size_t>(length));
  return std::string(all.substr(0, all.find_first_of(",\n")));
}

}  // namespace largo
