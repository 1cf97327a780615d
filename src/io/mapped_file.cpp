#include "io/mapped_file.hpp"

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

namespace largo {
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

}  // namespace largo
