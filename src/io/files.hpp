// Files written whole or not at all, and files read in place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace largo::io {

/// A file that appears complete or not at all: the bytes go to a temporary file in the same directory,
/// commit() flushes it to the disk and renames it over the target. Destroyed without commit (an exception,
/// say), it leaves nothing behind and the old file, if any, as it was. A symbolic link is written through,
/// also one whose target is yet to be made; a file that is there keeps its permissions and, where we may, its
/// owner.
class AtomicFile {
 public:
  /// `function` is the caller's name in messages. Refuses, with InputError, a target that exists and is not a
  /// regular file (a directory, /dev/null) or is read-only, for root, too, where nobody may write it, and a
  /// directory where nothing can be created.
  AtomicFile(std::string_view function, std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Hands over what is buffered, so that a full disk is met now and not at commit.
  void flush();
  /// Call once, last.
  void commit();
  /// The file itself, links followed.
  const std::filesystem::path& target() const { return path_; }

 private:
  void follow_links();
  [[noreturn]] void refuse(int error) const;

  std::string function_;
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::string buffer_;
  int fd_ = -1;
};

// A regular file mapped read-only into memory: pages are read when touched and can be dropped again by the
// system, so a prompt larger than memory can be streamed. Right for files that nobody shortens meanwhile: as
// with every mapping, touching a page that was cut off after opening ends the process (SIGBUS).

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

}  // namespace largo::io
