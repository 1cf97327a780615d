// Lets one process at a time use a store: it holds a lock on FILE.lock beside the store, which the kernel
// releases when the process ends, however it ends.
#pragma once

#include <filesystem>
#include <optional>

namespace largo::studies {

/// The unique name of a store's file: absolute, and without symbolic links, even if the file does not exist
/// yet. Two names would mean two locks, and SQLite takes ":memory:" for something else.
std::filesystem::path file_of_store(const std::filesystem::path& store);

class StoreLock {
 public:
  /// Throws InputError if another process has the lock, or the folder cannot be written.
  explicit StoreLock(const std::filesystem::path& store);
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;
  ~StoreLock();  ///< removes the lock file

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

/// Whether a process has the lock. Does not take it.
bool is_locked(const std::filesystem::path& store);

}  // namespace largo::studies
