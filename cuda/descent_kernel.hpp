// Launches of the kernel that takes descents to their ends.
#pragma once

#include "descent_layout.hpp"

namespace largo::cuda {

/// How the threads of a launch share its runs: a cluster of `cluster` blocks of threads for each run, and 8
/// `octets` threads for each prompt. With `apart`, each block has a multiprocessor of its own.
struct DescentShape {
  int cluster = 1, octets = 1;
  bool apart = false;
};

/// Takes the `count` runs at `runs` on the device to their ends. Returns an empty text, or what failed.
const char* launch_descents(const DescentSetting& setting, DescentRun* runs, int count, DescentShape shape,
                            void* stream);

/// The warps of a block of threads whose chunks fit into its shared memory, with other laws; at most all.
int law_warps(const DescentSetting& setting);

/// The multiprocessors of the device, the blocks of threads that it holds at a time, and the largest cluster
/// of blocks: one block if the device, or the code compiled for it, has no clusters.
struct Residents {
  int processors = 1, blocks = 1, largest_cluster = 1;
};
Residents resident_blocks(const DescentSetting& setting);

}  // namespace largo::cuda
