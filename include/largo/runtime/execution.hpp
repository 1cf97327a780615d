// How a computation is run. It does not change what is computed: results are bit-identical for every
// Execution, but for attention over a given prompt on a device, which agrees to the precision of float32.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "largo/runtime/ranks.hpp"

namespace largo {

class Device;  // largo/runtime/device.hpp

struct Execution {
  int threads = 0;                          ///< 0: all cores
  std::int64_t chunk = 0;                   ///< units of work handed to a thread at a time; 0: largo chooses
  const Ranks* ranks = nullptr;             ///< processes to share the work with; null: none
  const std::atomic<bool>* stop = nullptr;  ///< once true, long work ends within a second by throwing Stopped
  const Device* device = nullptr;  ///< draws prompts, attends to them and descends; null: the threads do
};

/// Thrown once Execution::stop is set. Nothing is returned. Nothing is written except the checkpoints that
/// were asked for; these are complete and show the state at that moment.
class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("stopped on request") {}
};

}  // namespace largo
