// A regular file mapped read-only into memory: pages are read when touched and can be dropped again by the
// system, so a prompt larger than memory can be streamed. Right for files that nobody shortens meanwhile: as
// with every mapping, touching a page that was cut off after opening ends the process (SIGBUS).
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace largo {

class MappedFile {
 public:
  /// Refuses, with InputError, what is missing, a directory, not a regular file, unreadable or empty.
  static MappedFile open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Valid as long as this object, or the one it was moved to, lives. Page-aligned, never empty.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace largo
