#include "studies/store_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::studies {
namespace {

std::filesystem::path lock_file(const std::filesystem::path& store) {
  return file_of_store(store).concat(".lock");
}

// The lock belongs to the open file, not to the process: closing another descriptor does not release it.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool same_file(int file, const std::filesystem::path& path) {
  struct stat one {
  }, other{};
  return ::fstat(file, &one) == 0 && ::stat(path.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

}  // namespace

std::filesystem::path file_of_store(const std::filesystem::path& store) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::error_code error;
  fs::path file = fs::absolute(store, error);
  for (int links = 0; links < kMostLinks && fs::is_symlink(file, error); ++links) {
    file = file.parent_path() / fs::read_symlink(file, error);
  }
  const fs::path folder = fs::canonical(file.parent_path(), error);
  return error ? file : folder / file.filename();
}

StoreLock::StoreLock(const std::filesystem::path& store) : path_(lock_file(store)) {
  while (true) {
    // A link is not followed: the id of this process would be written into whatever it points to.
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file_ < 0) {
      const int error = errno;
      struct stat there {};
      fail(store.string(), fmt::format("{} cannot be written ({})",
                                       ::lstat(path_.c_str(), &there) == 0 ? path_.string() : "the folder",
                                       std::strerror(error)));
    }
    struct flock lock = whole_file();
    if (::fcntl(file_, F_OFD_SETLK, &lock) != 0) {
      const int error = errno;
      char text[32] = {};
      const ssize_t size = ::read(file_, text, sizeof(text) - 1);
      ::close(file_);
      if (error != EAGAIN && error != EACCES) {
        fail(store.string(), fmt::format("{} cannot be locked ({})", path_.string(), std::strerror(error)));
      }
      const std::string holder(text, size > 0 ? std::string(text).find_first_not_of("0123456789") : 0);
      fail(store.string(), fmt::format("another largo is running this study{}",
                                       holder.empty() ? "" : fmt::format(" (process {})", holder)));
    }
    // The previous holder may have removed the file between our opening and locking it.
    if (same_file(file_, path_)) break;
    ::close(file_);
  }
  const std::string process = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, process.data(), process.size(), 0) < 0) {
    return;  // the id is only for people to read
  }
}

StoreLock::~StoreLock() {
  if (same_file(file_, path_)) ::unlink(path_.c_str());  // but not another's file, if the folder was moved
  ::close(file_);
}

bool is_locked(const std::filesystem::path& store) {
  const int file = ::open(lock_file(store).c_str(), O_RDONLY | O_CLOEXEC);  // may be another user's
  if (file < 0) return false;
  struct flock lock = whole_file();
  const bool locked = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file);
  return locked;
}

}  // namespace largo::studies
