// Ways to start and to leave a session, for programs_test.py: leave WAY
#include <mpi.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "largo/mpi/mpi_session.hpp"

namespace {

// Prints a line in one piece, even if several processes print at once.
void say(int rank, const char* what) {
  std::printf("%d %s\n", rank, what);
  std::fflush(stdout);
}

// The program starts MPI itself, and the session must leave it running.
int own_mpi() {
  MPI_Init(nullptr, nullptr);
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto outlives = std::make_unique<largo::MpiSession>();
  {
    const largo::MpiSession session;
    const std::vector<double> part = {1.0 * rank};
    if (session.ranks().gather(part).size() != static_cast<std::size_t>(session.ranks().size())) return 1;
  }
  if (MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS) return 1;
  say(rank, "still has MPI");
  MPI_Finalize();
  outlives.reset();
  try {
    const largo::MpiSession late;
  } catch (const std::runtime_error&) {
    say(rank, "cannot start MPI again");
  }
  return 0;
}

// An exception leaves the session on process `bad`, or on all processes (-1). The others wait for them.
int throw_on(int bad) {
  int rank = -1;
  try {
    const largo::MpiSession session;
    rank = session.ranks().rank();
    if (bad < 0 || rank == bad) throw std::runtime_error("leaves");
    session.ranks().gather(std::vector<double>{1});
    say(rank, "was not left waiting");
  } catch (const std::runtime_error&) {
    say(rank, "caught");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view way = argc == 2 ? argv[1] : "";
  if (way == "own-mpi") return own_mpi();
  if (way == "all-throw") return throw_on(-1);
  if (way == "one-throws") return throw_on(1);
  if (way == "started") return std::puts(largo::started_by_mpi() ? "yes" : "no") < 0 ? 1 : 0;
  return 2;
}
