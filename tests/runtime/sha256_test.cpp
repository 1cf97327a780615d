// Against the examples of FIPS 180-4 and similar texts, whose padding takes one more block, or none.
#include "runtime/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

namespace largo::sha256_test {
namespace {

std::string hex(const std::string& text, std::size_t piece) {
  runtime::Sha256 hash;
  for (std::size_t i = 0; i < text.size(); i += piece) hash.add(text.substr(i, piece));
  const auto digest = hash.finish();
  return runtime::to_hex(digest.data(), digest.size());
}

TEST(Sha256, KnownDigests) {
  EXPECT_EQ(hex("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(std::string(1000000, 'a'), 977),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesDoNotMatter) {
  for (std::size_t size = 0; size <= 130; ++size) {
    const std::string text(size, 'x');
    for (const std::size_t piece : {1, 7, 63, 64, 65}) EXPECT_EQ(hex(text, piece), hex(text, 1000)) << size;
  }
}

}  // namespace
}  // namespace largo::sha256_test
