#include "runtime/distribute.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace largo::runtime {
namespace {

// The states that processes announce before they exchange rows. From kAtEnd on, no rows will ever come.
constexpr double kReady = 0;
constexpr double kFailed = 1;
constexpr double kAtEnd = 2;

}  // namespace

Share share_of(std::ptrdiff_t count, const Execution& execution) {
  if (execution.ranks == nullptr) return {0, count};
  // The first count mod size ranks take one unit more. (count * rank / size would overflow.)
  const std::ptrdiff_t size = execution.ranks->size();
  const std::ptrdiff_t rank = execution.ranks->rank();
  const std::ptrdiff_t each = count / size;
  const std::ptrdiff_t longer = count % size;
  return {rank * each + std::min(rank, longer), each + (rank < longer ? 1 : 0)};
}

std::vector<int> deal(const std::vector<double>& costs, int processes) {
  std::vector<std::size_t> order(costs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
  std::vector<double> loads(static_cast<std::size_t>(processes));
  std::vector<int> owners(costs.size());
  for (const std::size_t i : order) {
    const auto least = std::min_element(loads.begin(), loads.end());
    *least += costs[i];
    owners[i] = static_cast<int>(least - loads.begin());
  }
  return owners;
}

AlignedVector<double> gather_rows(AlignedVector<double> rows, bool failed, const Execution& execution) {
  if (execution.ranks == nullptr || execution.ranks->size() == 1) return rows;
  // Every rank first announces whether its rows will come, so that none waits for a rank that has given up.
  const double state[] = {failed ? kFailed : kReady};
  bool another = false;
  for (const double other : execution.ranks->gather(state)) another = another || other != kReady;
  if (failed) return {};
  if (another) throw OtherProcessFailed();
  const std::vector<double> all = execution.ranks->gather(rows);
  return {all.begin(), all.end()};
}

}  // namespace largo::runtime

namespace largo {

std::vector<int> gather_at_end(const Ranks& ranks, int code) {
  const double state[] = {runtime::kAtEnd + code};
  while (true) {
    // Processes that were still in gather_rows now know of it, and will come here.
    const std::vector<double> states = ranks.gather(state);
    if (std::any_of(states.begin(), states.end(), [](double other) { return other < runtime::kAtEnd; }))
      continue;
    std::vector<int> codes;
    for (const double other : states) codes.push_back(static_cast<int>(other - runtime::kAtEnd));
    return codes;
  }
}

}  // namespace largo
