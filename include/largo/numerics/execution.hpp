// How a computation is run, never what it computes: results have the same bits for every Execution.
#pragma once

#include <cstdint>

namespace largo {

struct Execution {
  int threads = 0;         ///< 0: all cores
  std::int64_t chunk = 0;  ///< tokens handed to a thread at a time; 0: chosen by largo
};

}  // namespace largo
