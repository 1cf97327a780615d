// Launches of the kernel that takes descents to their ends.
#pragma once

#include "descent_layout.hpp"

namespace largo::cuda {

/// How the threads of a launch share its runs: a cluster of `cluster` blocks of threads for each, 8 `octets`
/// of them for each prompt; `apart`, each block on a multiprocessor of its own.
struct DescentShape {
  int cluster = 1, octets = 1;
  bool apart = false;
};

/// Takes `count` runs, which lie at `runs` on the device, to their ends. Returns an empty text, or what went
/// wrong.
const char* launch_descents(const DescentSetting& setting, DescentRun* runs, int count, DescentShape shape,
                            void* stream);

/// Multiprocessors of the device, blocks of threads that are on it at a time, and the largest cluster of
/// them: one block where the device, or the code that was translated for it, knows no clusters.
struct Residents {
  int processors = 1, blocks = 1, largest_cluster = 1;
};
Residents resident_blocks(const DescentSetting& setting);

}  // namespace largo::cuda
