#include "io/files.hpp"

#include <csignal>

#include <sys/resource.h>
#include <unistd.h>

#include "support/fixtures.hpp"

namespace largo::test::atomic_file_test {
namespace {

// While it lives, no file of this process can grow beyond `limit` bytes, as if the disk were full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t limit) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit now{limit, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int);
};

// Nothing else is left in the directory.
void expect_only_a(const TemporaryDirectory& directory, const std::string& content) {
  EXPECT_EQ(contents(directory / "a"), content);
  EXPECT_EQ(directory.files(), 1);
}

TEST(AtomicFile, AppearsOnCommitOnly) {
  const TemporaryDirectory directory;
  {
    io::AtomicFile file("test", directory / "a");
    file.write("hello ");
    file.write(bytes_of("world"));
    EXPECT_FALSE(std::filesystem::exists(directory / "a"));
    file.commit();
    EXPECT_EQ(contents(directory / "a"), "hello world");
  }
  expect_only_a(directory, "hello world");
}

TEST(AtomicFile, LeavesTheOldFileWithoutCommit) {
  const TemporaryDirectory directory;
  put(directory / "a", "old");
  {
    io::AtomicFile file("test", directory / "a");
    file.write(std::string(1 << 20, 'x'));
  }
  expect_only_a(directory, "old");
}

TEST(AtomicFile, ReplacesTheOldFile) {
  const TemporaryDirectory directory;
  put(directory / "a", "old");
  io::AtomicFile file("test", directory / "a");
  file.write("new");
  file.commit();
  expect_only_a(directory, "new");
}

TEST(AtomicFile, WritesManyMegabytesInOnePiece) {
  const TemporaryDirectory directory;
  std::string big(5'000'003, 'x');
  for (std::size_t i = 0; i < big.size(); i += 97) big[i] = static_cast<char>(i);
  io::AtomicFile file("test", directory / "a");
  file.write(bytes_of(big));
  file.commit();
  EXPECT_EQ(contents(directory / "a"), big);
}

TEST(AtomicFile, LeavesNothingWhenTheDiskIsFull) {
  const TemporaryDirectory directory;
  const FileSizeLimit limit(100'000);
  const std::string message = message_of([&] {
    io::AtomicFile file("test", directory / "a");
    file.write(std::string(1'000'000, 'x'));
    file.commit();
  });
  expect_contains(message, {"test: ", "/a: cannot be written: File too large"});
  EXPECT_EQ(directory.files(), 0);
}

TEST(AtomicFile, WritesThroughASymbolicLink) {
  const TemporaryDirectory directory;
  put(directory / "target", "old");
  std::filesystem::create_symlink(directory / "target", directory / "link");
  io::AtomicFile file("test", directory / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_EQ(contents(directory / "target"), "new");
}

TEST(AtomicFile, MakesTheTargetOfALinkThatLeadsNowhere) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "sub");
  std::filesystem::create_symlink("sub/second", directory / "first");  // relative, to another link
  std::filesystem::create_symlink("target", directory / "sub/second");
  io::AtomicFile file("test", directory / "first");
  EXPECT_EQ(file.target().filename(), "target");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "first"));
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "sub/second"));
  EXPECT_FALSE(std::filesystem::is_symlink(directory / "sub/target"));
  EXPECT_EQ(contents(directory / "sub/target"), "new");
}

TEST(AtomicFile, RefusesLinksThatGoRound) {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("b", directory / "a");
  std::filesystem::create_symlink("a", directory / "b");
  expect_contains(message_of([&] { io::AtomicFile("test", directory / "a"); }),
                  {"cannot be written: ", "links"});
}

TEST(AtomicFile, KeepsThePermissionsOfTheOldFile) {
  using std::filesystem::perms;
  const TemporaryDirectory directory;
  for (const perms mode : {perms{0600}, perms{0640}, perms{0666}, perms{0755}}) {
    put(directory / "a", "old");
    std::filesystem::permissions(directory / "a", mode);
    io::AtomicFile file("test", directory / "a");
    file.write("new");
    file.commit();
    EXPECT_EQ(contents(directory / "a"), "new");
    EXPECT_EQ(std::filesystem::status(directory / "a").permissions(), mode);
  }
}

TEST(AtomicFile, RefusesAReadOnlyFile) {
  const TemporaryDirectory directory;
  put(directory / "a", "old");
  std::filesystem::permissions(directory / "a", std::filesystem::perms{0444});
  std::filesystem::create_symlink("a", directory / "link");
  for (const char* name : {"a", "link"}) {  // refused for root, too
    expect_contains(message_of([&] { io::AtomicFile("test", directory / name); }),
                    {"test: ", "/a: cannot be written: is read-only", "chmod"});
  }
  EXPECT_EQ(contents(directory / "a"), "old");
  EXPECT_EQ(directory.files(), 2);
}

TEST(AtomicFile, RefusesWhatIsNotARegularFile) {
  const TemporaryDirectory directory;
  expect_contains(message_of([&] { io::AtomicFile("write_npy", directory / ""); }),
                  {"write_npy: ", ": cannot be written: is not a regular file"});
  expect_contains(message_of([] { io::AtomicFile("write_npy", "/dev/null"); }), {"is not a regular file"});
}

TEST(AtomicFile, RefusesAMissingDirectory) {
  const TemporaryDirectory directory;
  expect_contains(message_of([&] { io::AtomicFile("test", directory / "no/such/a"); }),
                  {"no/such/a: cannot be written: No such file or directory"});
}

}  // namespace
}  // namespace largo::test::atomic_file_test
