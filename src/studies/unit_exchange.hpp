// What the processes of one study tell each other, again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "largo/runtime/execution.hpp"
#include "studies/store.hpp"

namespace largo {

struct UnitReport {
  bool stop = false;         ///< was asked to
  std::int64_t waiting = 0;  ///< units it has not begun
  int threads = 1;
  std::vector<FinishedUnit> finished;
};

/// Every process brings its own and gets those of all. Throws OtherProcessFailed. `names` is the number of
/// results.
std::vector<UnitReport> exchange(UnitReport mine, std::size_t names, const Execution& execution);

/// InputError at every process unless all have the same units: their files may differ, or what these name.
void check_same(const Study& study, const Execution& execution);

/// The first process has a list of increasing numbers, and all get it.
std::vector<std::int64_t> share_list(std::vector<std::int64_t> list, const Execution& execution);

/// For a process that cannot go on: the others throw OtherProcessFailed.
void give_up(const Execution& execution);

}  // namespace largo
