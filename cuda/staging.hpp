// Tokens on their way from the host to the device: the threads of the process convert them into one part of
// pinned memory while the rest is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "largo/runtime/array_view.hpp"
#include "largo/runtime/execution.hpp"
#include "runtime.hpp"

namespace largo::cuda {

/// Whether every number is a bfloat16, the upper half of a float32: such prompts take half the memory, and
/// lose nothing. Throws Stopped.
bool are_halves(const ArrayView& tokens, const Execution& execution);

/// Bytes per number on the device.
constexpr std::size_t number_size(bool halves) { return halves ? 2 : 4; }

class Staging {
 public:
  /// Copies tokens `first` to `first + count` to the device; the stream still has the last of this to do on
  /// return. Throws Stopped.
  void copy(const ArrayView& tokens, std::int64_t first, std::int64_t count, bool halves,
            const Execution& execution, void* to, cudaStream_t stream);

 private:
  // Large enough that waking the converters takes little time compared with their work.
  struct Slot {
    PinnedArray<std::byte> memory;
    Event copied;
  };
  static constexpr std::size_t kSlots = 3, kSlotBytes = std::size_t{1} << 24;

  std::vector<Slot> slots_;
  std::size_t next_ = 0;
};

/// Keeps used memory for the next user: pinning 16 MB takes ten milliseconds.
class StagingShelf {
 public:
  std::unique_ptr<Staging> take();
  void put_back(std::unique_ptr<Staging> staging);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Staging>> kept_;
};

}  // namespace largo::cuda
