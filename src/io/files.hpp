// Files written whole or not at all, and files read in place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace largo::io {

/// A file that appears complete or not at all: the bytes go to a temporary file in the same directory, which
/// commit() flushes to disk and renames over the target. If it is destroyed without commit (by an exception,
/// say), it leaves nothing behind and does not touch the old file. A symbolic link is followed, even to a
/// target that does not exist yet; an existing file keeps its permissions and, if we may set it, its owner.
class AtomicFile {
 public:
  /// `function` is the caller's name in messages. Throws InputError if the target exists and is not a regular
  /// file (a directory, /dev/null) or is read-only (for root, too, if nobody may write it), or if nothing can
  /// be created in the directory.
  AtomicFile(std::string_view function, std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  /// Writes the buffer to the file, so that a full disk is noticed now and not at commit.
  void flush();
  /// Call it once, after the last write.
  void commit();
  /// The file itself, with links followed.
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
// system, so a prompt larger than memory can be streamed. Only for files that nobody shortens meanwhile: as
// with every mapping, touching a page that was cut off after opening ends the process (SIGBUS).

class MappedFile {
 public:
  /// Throws InputError if the file is missing, a directory, not a regular file, unreadable or empty.
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
