// A file system for SQLite on which a kill, a loss of power or a full disk comes at a chosen operation.
#pragma once

#include <cstdint>

namespace largo::test {

enum class Mishap : std::uint8_t {
  none,
  kill,             ///< SIGKILL: what was written stays
  power_loss,       ///< what was written since the last sync of its file is gone
  torn_power_loss,  ///< every other one of these writes is gone, as disks write in any order
  disk_full,        ///< from here on nothing can be written
};

/// For all connections of this process from now on. Operations are the writes, truncations, syncs and
/// deletions, counted from 0; the mishap comes instead of number `at`.
void expect_mishap(Mishap mishap, int at);

}  // namespace largo::test
