#include "io/files.hpp"

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/text.hpp"
#include "largo/runtime/check.hpp"

namespace largo::io {
namespace {

constexpr std::size_t kBufferSize = 1 << 16;

// The counter makes the name unique in the process, and the id among processes; O_EXCL below catches a file
// left over from a killed process that had the same id.
std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter = 0;
  return path.native() + fmt::format(".tmp-{}-{}", ::getpid(), counter++);
}

// Best effort: the owner of the folder may not be allowed to give files away.
void keep_mode(int fd, const struct stat& old) {
  if (::fchown(fd, old.st_uid, old.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0) {
    ::fchmod(fd, old.st_mode & 0700U);  // rights meant for another group must not go to ours
    return;
  }
  ::fchmod(fd, old.st_mode & 0777U);
}

// Makes the rename itself durable. Some file systems cannot flush directories; the data are safe anyway.
void flush_directory(const std::filesystem::path& directory) {
  const int fd = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

AtomicFile::AtomicFile(std::string_view function, std::filesystem::path path)
    : function_(function), path_(std::move(path)) {
  follow_links();
  struct stat old {};
  const bool exists = ::stat(path_.c_str(), &old) == 0;
  if (exists && !S_ISREG(old.st_mode)) {
    fail(function_, fmt::format("{}: cannot be written: is not a regular file", one_line(path_.native())));
  }
  // A file that nobody may write was protected on purpose, although the kernel would let root write it.
  const bool is_protected = (old.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0;
  if (exists && (is_protected || ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0)) {
    fail(function_, fmt::format("{}: cannot be written: is read-only; name another file, or allow writing "
                                "with chmod u+w",
                                one_line(path_.native())));
  }
  buffer_.reserve(kBufferSize);
  const mode_t mode = exists ? 0600 : 0666;  // nobody else may read it before it has the old file's mode
  do {
    temporary_ = temporary_beside(path_);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) refuse(errno);
  if (exists) keep_mode(fd_, old);
}

// Also follows a link whose target does not exist yet, which std::filesystem::canonical does not.
void AtomicFile::follow_links() {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::error_code error;
  for (int i = 0; std::filesystem::is_symlink(path_, error); ++i) {
    if (i == kMostLinks) refuse(ELOOP);
    const std::filesystem::path to = std::filesystem::read_symlink(path_, error);
    if (error) refuse(error.value());
    path_ = path_.parent_path() / to;  // an absolute target replaces the whole path
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferSize) flush();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kPiece = 1 << 20;  // bounds the buffer, however much the caller hands over at once
  for (; bytes.size() > kPiece; bytes = bytes.subspan(kPiece)) {
    write(std::string_view(reinterpret_cast<const char*>(bytes.data()), kPiece));
  }
  write(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

void AtomicFile::flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = ::write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse(errno);
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (::fsync(fd_) != 0) refuse(errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) refuse(errno);
  ::close(std::exchange(fd_, -1));
  flush_directory(path_.parent_path());
}

void AtomicFile::refuse(int error) const {
  fail(function_, fmt::format("{}: cannot be written: {}", one_line(path_.native()),
                              std::generic_category().message(error)));
}

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view reason) {
  fail("read_file", fmt::format("{}: {}", one_line(path.native()), reason));
}

[[noreturn]] void refuse_errno(const std::filesystem::path& path, int error) {
  refuse(path, fmt::format("cannot be read: {}", std::generic_category().message(error)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

MappedFile MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a pipe must be refused below, not wait for a writer.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) refuse_errno(path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) refuse_errno(path, errno);
  if (S_ISDIR(status.st_mode)) refuse(path, "is a directory, must be a file");
  if (!S_ISREG(status.st_mode)) refuse(path, "is not a regular file");
  if (status.st_size == 0) refuse(path, "is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) refuse_errno(path, errno);
  return MappedFile({static_cast<const std::byte*>(address), size});
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace largo::io
