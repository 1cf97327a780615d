// One process at a time on a store: a lock on FILE.lock beside it, which the kernel takes away when its
// process ends, however it ends.
#pragma once

#include <filesystem>
#include <optional>

namespace largo::studies {

/// The one name of a store's file: absolute, and without symbolic links, also where it is yet to be made. Two
/// names would be two locks, and SQLite takes ":memory:" for something else.
std::filesystem::path file_of_store(const std::filesystem::path& store);

class StoreLock {
 public:
  /// InputError where another process has it, or the folder cannot be written.
  explicit StoreLock(const std::filesystem::path& store);
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;
  ~StoreLock();  ///< removes the file

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

/// Whether a process has the lock. Takes none itself.
bool is_locked(const std::filesystem::path& store);

}  // namespace largo::studies
