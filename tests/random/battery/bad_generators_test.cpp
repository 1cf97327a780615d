// The battery can fail: each bad generator is caught by the named tests, from 6 MiB of words.
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <string>

#include <Random123/philox.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "random/battery/chacha.hpp"
#include "random/battery/layouts.hpp"
#include "random/battery/normal_tests.hpp"
#include "random/battery/word_test.hpp"
#include "random/float_draws.hpp"

namespace largo::battery {
namespace {

std::vector<std::string> failures(const std::vector<Result>& results) {
  std::vector<std::string> names;
  for (const Result& result : results) {
    if (result.tail() < kFailure) names.push_back(result.name);
  }
  return names;
}

std::vector<std::string> failures(const WordSource& source, std::size_t stride = 8, std::size_t blocks = 48) {
  Runner runner(all_word_tests(stride), kHistory, kBlock);
  runner.run(source, blocks);
  std::vector<Result> results;
  runner.report(results);
  return failures(results);
}

/// Whether one of the failures begins with the name; if not, all failures are printed.
::testing::AssertionResult caught(const std::vector<std::string>& names, const std::string& by) {
  for (const std::string& name : names) {
    if (name.starts_with(by)) return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << fmt::format("{}: caught by {}: {}", by, names.size(), fmt::join(names, "; "));
}

template <class Next>
WordSource source(Next next) {
  return [next](std::span<std::uint64_t> words) mutable {
    for (std::uint64_t& word : words) word = next();
  };
}

// The words of 8 tokens of consecutive prompts, by Philox with few rounds.
WordSource weak_philox(unsigned rounds) {
  return [rounds, n = std::uint32_t{0}](std::span<std::uint64_t> words) mutable {
    for (std::size_t i = 0; i + 8 <= words.size(); i += 8, ++n) {
      for (std::uint32_t c = 0; c < 4; ++c) {
        const philox4x32_ctr_t out = philox4x32_R(rounds, {{c, 0, n, 0}}, {{20240607, 0}});
        words[i + 2 * c] = std::uint64_t{out.v[1]} << 32 | out.v[0];
        words[i + 2 * c + 1] = std::uint64_t{out.v[3]} << 32 | out.v[2];
      }
    }
  };
}

TEST(BadGenerators, GoodOnesPass) {
  EXPECT_TRUE(failures(ChaCha(3)).empty());
  EXPECT_TRUE(failures(weak_philox(10)).empty());
}

TEST(BadGenerators, Weyl) {
  const auto names = failures(source([x = std::uint64_t{0}]() mutable { return x += 0x9e3779b97f4a7c15; }));
  EXPECT_TRUE(caught(names, "bytes (difference, lag 1)"));
  EXPECT_TRUE(caught(names, "birthday spacings of bits 12..63"));
}

TEST(BadGenerators, Congruential) {
  const auto names = failures(
      source([x = std::uint64_t{1}]() mutable { return x = x * 6364136223846793005 + 1442695040888963407; }));
  EXPECT_TRUE(caught(names, "bits (xor, lag 1)"));
  EXPECT_TRUE(caught(names, "linear complexity of 2048 bits"));
  EXPECT_TRUE(caught(names, "16-bit pieces of bits 0..0 alone"));
}

TEST(BadGenerators, Xorshift32) {
  const auto names = failures(source([x = std::uint32_t{1}]() mutable {
    std::uint64_t word = 0;
    for (int half = 0; half < 2; ++half) {
      x ^= x << 13;
      x ^= x >> 17;
      x ^= x << 5;
      word = word << 32 | x;
    }
    return word;
  }));
  EXPECT_TRUE(caught(names, "rank of 64 x 64"));
  EXPECT_TRUE(caught(names, "linear complexity of 2048 bits"));
}

TEST(BadGenerators, Xorshift128) {
  std::array<std::uint64_t, 2> s = {1, 2};
  const auto names = failures(source([s]() mutable {
    std::uint64_t a = s[0];
    const std::uint64_t b = s[1];
    s[0] = b;
    a ^= a << 23;
    s[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
    return s[1];
  }));
  EXPECT_TRUE(caught(names, "rank of 256 x 256"));
  EXPECT_TRUE(caught(names, "rank of 1024 x 1024"));
}

TEST(BadGenerators, MersenneTwister) {
  const auto names = failures(source(std::mt19937_64(5)));
  EXPECT_TRUE(caught(names, "linear complexity of 49152 bits"));
}

TEST(BadGenerators, PhiloxOfFewRounds) {
  EXPECT_TRUE(caught(failures(weak_philox(2)), "bits (xor, lag 1)"));
  EXPECT_TRUE(caught(failures(weak_philox(3)), "bits (xor, lag"));
  EXPECT_TRUE(caught(failures(weak_philox(4)), "bits (xor, lag"));
  EXPECT_TRUE(
      caught(failures(weak_philox(5)), "bits (xor, lag"));  // 6 rounds pass, even at ten times the size
}

TEST(BadGenerators, EveryStreamTwice) {
  const auto twice = [](std::size_t unit) {
    return [unit, n = std::uint64_t{0}](std::span<std::uint64_t> words) mutable {
      for (std::size_t i = 0; i < words.size(); i += unit, ++n) {
        token_words(1, n / 2, 0, 0, words.subspan(i, unit));
      }
    };
  };
  EXPECT_TRUE(caught(failures(twice(8)), "bits (xor, lag 8)"));
  EXPECT_TRUE(caught(failures(twice(1024), 1024), "bits (xor, lag 1024)"));
  EXPECT_TRUE(caught(failures(twice(1024), 8), "birthday spacings"));
}

TEST(BadGenerators, SlightlyUnfairBit) {  // bit 5 is one with probability 0.5 + 2^-7
  auto chacha = ChaCha(9);
  const auto names =
      failures([chacha, spare = std::vector<std::uint64_t>()](std::span<std::uint64_t> words) mutable {
        chacha(words);
        spare.resize(words.size());
        chacha(spare);
        for (std::size_t i = 0; i < words.size(); ++i) words[i] |= (spare[i] % 64 == 0 ? 1 : 0) << 5;
      });
  EXPECT_TRUE(caught(names, "bits (words)"));
}

TEST(BadGenerators, HeavyNextToHeavy) {  // a word repeats the one before with probability 1/32
  auto chacha = ChaCha(10);
  const auto names = failures([chacha](std::span<std::uint64_t> words) mutable {
    chacha(words);
    for (std::size_t i = 1; i < words.size(); ++i) words[i] = words[i] >> 59 == 0 ? words[i - 1] : words[i];
  });
  EXPECT_TRUE(caught(names, "correlation of ones"));
  EXPECT_TRUE(caught(names, "ones in 6 words"));
  EXPECT_TRUE(caught(names, "pairs of lowest bytes, lag 1"));
  EXPECT_TRUE(caught(names, "different bits"));
  EXPECT_TRUE(caught(names, "collisions"));
}

// The library's normals, with one thing wrong.
template <class Spoil>
std::vector<std::string> normal_failures(const Spoil& spoil) {
  alignas(64) static std::array<float, 1024> x, y;
  NormalTests tests;
  for (std::uint64_t n = 0; n < 2000; ++n) {
    random::token_normals({3, n, 0}, x.size() / random::kTokensAtOnce, x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) spoil(x[i], y[i], i);
    tests.add(x, y);
  }
  std::vector<Result> results;
  tests.report(results);
  return failures(results);
}

TEST(BadNormals, AreCaught) {
  EXPECT_TRUE(normal_failures([](float&, float&, std::size_t) {}).empty());
  EXPECT_TRUE(caught(normal_failures([](float& x, float&, std::size_t) { x *= 1.01F; }), "moment 2"));
  EXPECT_TRUE(caught(normal_failures([](float& x, float&, std::size_t) { x += 0.01F; }), "moment 1"));
  EXPECT_TRUE(caught(normal_failures([](float& x, float&, std::size_t) { x = std::clamp(x, -4.0F, 4.0F); }),
                     "first normal beyond 4"));
  EXPECT_TRUE(caught(normal_failures([](float& x, float& y, std::size_t) { y = 0.99995F * y + 0.01F * x; }),
                     "correlation in pairs"));
  float last = 0;
  const auto follow = [&last](float& x, float&, std::size_t i) { last = i % 8 == 7 ? x = last : x; };
  EXPECT_TRUE(caught(normal_failures(follow), "correlation of tokens 1 apart"));
  // Coarse normals, with 10 bits.
  const auto coarse = [](float& x, float&, std::size_t) { x = std::round(x * 64) / 64; };
  EXPECT_TRUE(caught(normal_failures(coarse), "density of the first normal"));
}

TEST(BadNormals, EqualPromptsAreCaught) {
  alignas(64) static std::array<float, 1024> x, y;
  NormalTests tests;
  for (std::uint64_t n = 0; n < 2000; ++n) {
    random::token_normals({3, n / 2, 0}, x.size() / random::kTokensAtOnce, x.data(), y.data());
    tests.add(x, y);
  }
  std::vector<Result> results;
  tests.report(results);
  EXPECT_TRUE(caught(failures(results), "correlation of neighbouring prompts"));
}

}  // namespace
}  // namespace largo::battery
