#include "numerics/distribute.hpp"

#include <stdexcept>

namespace largo {

Share share_of(std::ptrdiff_t count, const Execution& execution) {
  if (execution.ranks == nullptr) return {0, count};
  // The first count mod size ranks take one more. (count * rank / size would overflow.)
  const std::ptrdiff_t size = execution.ranks->size();
  const std::ptrdiff_t rank = execution.ranks->rank();
  const std::ptrdiff_t each = count / size;
  const std::ptrdiff_t longer = count % size;
  return {rank * each + std::min(rank, longer), each + (rank < longer ? 1 : 0)};
}

std::vector<double> gather_rows(std::vector<double> rows, bool failed, const Execution& execution) {
  if (execution.ranks == nullptr || execution.ranks->size() == 1) return rows;
  // Every rank says first whether its rows will come, so that none waits for one that has given up.
  const double state[] = {failed ? 1.0 : 0.0};
  bool another = false;
  for (const double other : execution.ranks->gather(state)) another = another || other != 0;
  if (failed) return {};
  if (another) throw std::runtime_error("another process of this computation has failed or was stopped");
  return execution.ranks->gather(rows);
}

}  // namespace largo
