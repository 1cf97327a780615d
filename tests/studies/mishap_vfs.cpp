#include "studies/mishap_vfs.hpp"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

namespace largo::test {
namespace {

// A write that has not been synced, and the content before it.
struct Unsynced {
  sqlite3_file* file;
  sqlite3_int64 offset, size_before;
  std::vector<char> before, zeros;
};

Mishap expected = Mishap::none;
int when = 0, operations = 0;
bool full = false;
std::vector<Unsynced> unsynced;
sqlite3_vfs* system_vfs = nullptr;
sqlite3_vfs mishap_vfs;
sqlite3_io_methods methods;

// SQLite allocates this and, behind it, the system's own file.
struct File {
  sqlite3_file base;
  sqlite3_file* system() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
sqlite3_file* system_of(sqlite3_file* file) { return reinterpret_cast<File*>(file)->system(); }

void lose_power(bool all) {
  for (std::size_t i = unsynced.size(); i-- > 0;) {
    if (!all && i % 2 == 0) continue;
    const Unsynced& one = unsynced[i];
    const auto* io = one.file->pMethods;
    const auto write = [&](const std::vector<char>& bytes, sqlite3_int64 at) {
      if (!bytes.empty()) io->xWrite(one.file, bytes.data(), static_cast<int>(bytes.size()), at);
    };
    write(one.before, one.offset);
    write(one.zeros, one.offset + static_cast<sqlite3_int64>(one.before.size()));
    if (all) io->xTruncate(one.file, one.size_before);
  }
}

// What SQLite gets as the result of the operation.
int next_operation(bool writes) {
  if (operations++ == when) {
    full = expected == Mishap::disk_full;
    if (expected == Mishap::power_loss) lose_power(true);
    if (expected == Mishap::torn_power_loss) lose_power(false);
    if (expected != Mishap::none && !full) ::kill(::getpid(), SIGKILL);
  }
  return full && writes ? SQLITE_FULL : SQLITE_OK;
}

void remember(sqlite3_file* file, int count, sqlite3_int64 offset) {
  Unsynced one{file, offset, 0, {}, {}};
  file->pMethods->xFileSize(file, &one.size_before);
  const auto there = std::clamp<sqlite3_int64>(one.size_before - offset, 0, count);
  one.before.resize(static_cast<std::size_t>(there));
  if (there > 0) file->pMethods->xRead(file, one.before.data(), static_cast<int>(there), offset);
  one.zeros.resize(static_cast<std::size_t>(count - there));
  unsynced.push_back(std::move(one));
}

void forget(sqlite3_file* file) {
  std::erase_if(unsynced, [&](const Unsynced& one) { return one.file == file; });
}

int close_file(sqlite3_file* file) {
  forget(system_of(file));
  return system_of(file)->pMethods->xClose(system_of(file));
}
int write_file(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  if (const int code = next_operation(true); code != SQLITE_OK) return code;
  remember(system_of(file), count, offset);
  return system_of(file)->pMethods->xWrite(system_of(file), bytes, count, offset);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  next_operation(false);
  return system_of(file)->pMethods->xTruncate(system_of(file), size);
}
// The disk itself is not synced: only what a loss of power would undo counts.
int sync_file(sqlite3_file* file, int) {
  next_operation(false);
  forget(system_of(file));
  return SQLITE_OK;
}
int delete_file(sqlite3_vfs*, const char* name, int) {
  next_operation(false);
  return system_vfs->xDelete(system_vfs, name, 0);
}

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  file->pMethods = nullptr;
  const int code = system_vfs->xOpen(system_vfs, name, system_of(file), flags, flags_out);
  if (system_of(file)->pMethods != nullptr) file->pMethods = &methods;
  return code;
}

void fill_methods() {
  methods.iVersion = 1;  // without shared memory and mapped files
  methods.xClose = close_file;
  methods.xRead = [](sqlite3_file* f, void* bytes, int count, sqlite3_int64 offset) {
    return system_of(f)->pMethods->xRead(system_of(f), bytes, count, offset);
  };
  methods.xWrite = write_file;
  methods.xTruncate = truncate_file;
  methods.xSync = sync_file;
  methods.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
    return system_of(f)->pMethods->xFileSize(system_of(f), size);
  };
  methods.xLock = [](sqlite3_file* f, int kind) { return system_of(f)->pMethods->xLock(system_of(f), kind); };
  methods.xUnlock = [](sqlite3_file* f, int kind) {
    return system_of(f)->pMethods->xUnlock(system_of(f), kind);
  };
  methods.xCheckReservedLock = [](sqlite3_file* f, int* locked) {
    return system_of(f)->pMethods->xCheckReservedLock(system_of(f), locked);
  };
  methods.xFileControl = [](sqlite3_file* f, int what, void* value) {
    return system_of(f)->pMethods->xFileControl(system_of(f), what, value);
  };
  // The file system promises nothing, so that SQLite takes care of everything.
  methods.xSectorSize = [](sqlite3_file*) { return 4096; };
  methods.xDeviceCharacteristics = [](sqlite3_file*) { return 0; };
}

}  // namespace

void expect_mishap(Mishap mishap, int at) {
  expected = mishap;
  when = at;
  operations = 0;
  full = false;
  if (system_vfs != nullptr) return;
  fill_methods();
  system_vfs = sqlite3_vfs_find(nullptr);
  mishap_vfs = *system_vfs;
  mishap_vfs.zName = "mishap";
  mishap_vfs.pNext = nullptr;
  mishap_vfs.szOsFile = static_cast<int>(sizeof(File)) + system_vfs->szOsFile;
  mishap_vfs.xOpen = open_file;
  mishap_vfs.xDelete = delete_file;
  sqlite3_vfs_register(&mishap_vfs, 1);
}

}  // namespace largo::test
