#include "io/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "support/fixtures.hpp"

namespace largo::test::mapped_file_test {
namespace {

TEST(MappedFile, GivesTheBytes) {
  const TemporaryDirectory directory;
  const io::MappedFile file = io::MappedFile::open(put(directory / "a", std::string("x\0y", 3)));
  ASSERT_EQ(file.bytes().size(), 3u);
  EXPECT_EQ(file.bytes()[0], std::byte{'x'});
  EXPECT_EQ(file.bytes()[1], std::byte{0});
  EXPECT_EQ(file.bytes()[2], std::byte{'y'});
}

TEST(MappedFile, MovesAndOutlivesTheName) {
  const TemporaryDirectory directory;
  io::MappedFile first = io::MappedFile::open(put(directory / "a", "first"));
  io::MappedFile second = io::MappedFile::open(put(directory / "b", "second"));
  const std::byte* const address = second.bytes().data();
  first = std::move(second);
  std::filesystem::remove(directory / "b");
  EXPECT_EQ(first.bytes().data(), address);
  const io::MappedFile third = std::move(first);
  EXPECT_EQ(third.bytes().data(), address);
  EXPECT_EQ(third.bytes()[5], std::byte{'d'});
}

TEST(MappedFile, RefusesMissing) {
  expect_contains(message_of([] { io::MappedFile::open("/no/such/tokens.npy"); }),
                  {"/no/such/tokens.npy: cannot be read: No such file or directory"});
}

TEST(MappedFile, RefusesDirectory) {
  const TemporaryDirectory directory;
  expect_contains(message_of([&] { io::MappedFile::open(directory / ""); }), {": is a directory"});
}

TEST(MappedFile, RefusesEmpty) {
  const TemporaryDirectory directory;
  expect_contains(message_of([&] { io::MappedFile::open(put(directory / "void.npy", "")); }),
                  {"void.npy: is empty"});
}

TEST(MappedFile, RefusesPipeWithoutWaiting) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  expect_contains(message_of([&] { io::MappedFile::open(directory / "pipe"); }),
                  {"pipe: is not a regular file"});
}

TEST(MappedFile, RefusesDevice) {
  expect_contains(message_of([] { io::MappedFile::open("/dev/null"); }),
                  {"/dev/null: is not a regular file"});
}

TEST(MappedFile, RefusesUnreadable) {
  if (::geteuid() == 0) GTEST_SKIP() << "the superuser can read everything";
  const TemporaryDirectory directory;
  put(directory / "secret", "x");
  ASSERT_EQ(::chmod((directory / "secret").c_str(), 0), 0);
  expect_contains(message_of([&] { io::MappedFile::open(directory / "secret"); }),
                  {"secret: cannot be read: Permission denied"});
}

TEST(MappedFile, MessageStaysOnOneLine) {
  expect_contains(message_of([] { io::MappedFile::open("no\nsuch\x01"); }), {"no\\nsuch\\x01"});
}

}  // namespace
}  // namespace largo::test::mapped_file_test
