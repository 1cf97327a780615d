// A file system for SQLite that suffers a kill, a loss of power or a full disk at a chosen operation.
#pragma once

#include <cstdint>

namespace largo::test {

enum class Mishap : std::uint8_t {
  none,
  kill,             ///< SIGKILL: all writes stay
  power_loss,       ///< all writes since the last sync of their file are lost
  torn_power_loss,  ///< every other one of these writes is lost, as disks write in any order
  disk_full,        ///< from here on, nothing can be written
};

/// Holds for all connections of this process from now on. Operations are writes, truncations, syncs and
/// deletions, counted from 0; the mishap happens in place of number `at`.
void expect_mishap(Mishap mishap, int at);

}  // namespace largo::test
