// A file that appears complete or not at all: the bytes go to a temporary file in the same directory,
// commit() flushes it to the disk and renames it over the target. Destroyed without commit (an exception,
// say), it leaves nothing behind and the old file, if any, as it was. A symbolic link is written through,
// also one whose target is yet to be made; a file that is there keeps its permissions and, where we may, its
// owner.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace largo {

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

}  // namespace largo
