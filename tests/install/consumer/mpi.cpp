// A program that uses the component mpi on its own: one process, without mpirun.
#include <iostream>
#include <largo/mpi/mpi_session.hpp>
#include <vector>

int main() {
  const std::vector<double> part = {1, 2, 3};
  std::cout << largo::mpi_library() << '\n';
  if (largo::started_by_mpi()) return 0;  // this test is itself under a launcher, and may not start MPI again
  const largo::MpiSession session;
  return session.ranks().size() == 1 && session.ranks().gather(part) == part ? 0 : 1;
}
