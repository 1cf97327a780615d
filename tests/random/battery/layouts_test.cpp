// The layouts of the battery are those of the program: words are compared with Random123 and with the
// kernels' own, and normals with the words.
#include "random/battery/layouts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "random/float_draws.hpp"

namespace largo::battery {
namespace {

// Word k (of 4) at counter (counter, stream).
std::uint32_t philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter, std::size_t k) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const philox4x32_ctr_t c = {{low(counter), low(counter >> 32), low(stream), low(stream >> 32)}};
  const philox4x32_key_t key = {{low(seed), low(seed >> 32)}};
  return philox4x32(c, key).v[k];
}

TEST(Layouts, TokenWordsAreWhereTheHeaderSays) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{3} << 40}) {
    std::vector<std::uint64_t> words(80);
    token_words(11, 12, first, 5, words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::uint64_t t = 40 + i;
      const std::uint64_t counter = first + t / 2;
      const std::size_t half = t % 2 == 0 ? 0 : 2;
      ASSERT_EQ(words[i],
                std::uint64_t{philox(11, 12, counter, half + 1)} << 32 | philox(11, 12, counter, half))
          << t;
    }
  }
}

TEST(Layouts, TokenWordsAreThoseOfTheKernels) {
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{7} << 40, ~std::uint64_t{0} - 11}) {
    constexpr std::size_t kGroups = 33;
    alignas(64) std::uint32_t low[kGroups * 8], high[kGroups * 8];
    random::token_words({5, 6, first}, kGroups, low, high);
    std::vector<std::uint64_t> words(kGroups * 8);
    token_words(5, 6, first, 0, words);
    for (std::size_t i = 0; i < words.size(); ++i) {
      ASSERT_EQ(words[i], std::uint64_t{high[i]} << 32 | low[i]) << i;
    }
  }
}

struct Pair {
  double x, y;
};

// Box and Muller's method in double, with the bits read as in float_normals-inl.hpp: u is (m + 1/2) 2^-31,
// where m is the upper 31 bits of the radius, whose last bit is the sign. The top bit of the angle's 16
// exchanges the cos and sin of an angle within ±π/4, which the other bits give.
Pair reference_normals(std::uint32_t radius_bits, std::uint32_t angle_bits) {
  const double u = (static_cast<double>(radius_bits >> 1) + 0.5) * 0x1p-31;
  const double r = (radius_bits % 2 == 1 ? -1 : 1) * std::sqrt(-2 * std::log(u));
  const auto bits = static_cast<std::int16_t>(static_cast<std::uint16_t>(angle_bits << 1));
  const double angle = std::numbers::pi / 4 * (bits + 1) * 0x1p-15;
  return angle_bits >= 0x8000 ? Pair{r * std::sin(angle), r * std::cos(angle)}
                              : Pair{r * std::cos(angle), r * std::sin(angle)};
}

TEST(Layouts, TokenNormalsAreMadeOfTheseWords) {
  // The relative error is 2^-22 of the radius r <= 6.7, and the absolute one 2^-23 of the circle. Also, u is
  // rounded to 24 bits, so that r² is wrong by 2^-23 and r by 2^-24 / r.
  constexpr double kRounding = 6.7 * (0x1p-22 + 0x1p-23);
  const auto seed = std::uint64_t{0x123456789abcdef};
  for (const std::uint64_t stream : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{7} << 40}) {
      constexpr std::size_t kBlocks = 9;
      alignas(64) float x[kBlocks * 32], y[kBlocks * 32];
      random::token_normals({seed, stream, first}, kBlocks * 4, x, y);
      std::vector<std::uint64_t> words(kBlocks * 24);
      normal_words(seed, stream, first, words);
      for (std::size_t block = 0; block < kBlocks; ++block) {
        // Word w of counter c of the block.
        const auto word = [&](std::size_t c, std::size_t w) {
          return static_cast<std::uint32_t>(words[24 * block + 2 * c + w / 2] >> (w % 2 * 32));
        };
        for (std::size_t t = 0; t < 32; ++t) {
          const std::size_t group = t / 8, j = t % 8 / 2, upper = t % 2 * 2;
          const std::uint32_t angles = word(8 + j, group / 2 + upper);
          const Pair expected = reference_normals(word(4 * (group / 2) + j, group % 2 + upper),
                                                  group % 2 == 0 ? angles & 0xffff : angles >> 16);
          const double tolerance =
              kRounding + 0x1p-24 / std::max(std::hypot(expected.x, expected.y), 0x1p-12);
          ASSERT_NEAR(x[32 * block + t], expected.x, tolerance) << t;
          ASSERT_NEAR(y[32 * block + t], expected.y, tolerance) << t;
        }
      }
    }
  }
}

TEST(Layouts, WordsComeFromTheAddressesNamed) {
  const auto words_of = [](const char* name, std::size_t count) {
    std::vector<std::uint64_t> words(count);
    find_layout(name, 100).source(words);
    return words;
  };
  const auto token = [](std::uint64_t seed, std::uint64_t n, std::uint64_t first, std::uint64_t t) {
    std::array<std::uint64_t, 8> words;
    token_words(seed, n, first, t / 8, words);
    return words[t % 8];
  };
  std::uint64_t draw;
  Stream(100, 0).bits(20000, {&draw, 1});
  EXPECT_EQ(words_of("long_stream", 20001).back(), draw);
  EXPECT_EQ(words_of("prompts", 2018).back(), token(101, 2, 0, 17));
  EXPECT_EQ(words_of("short_prompts", 18).back(), token(102, 2, 0, 1));
  EXPECT_EQ(words_of("across_prompts", 16384 + 3 * 2048 + 6).back(), token(103, 2053, 0, 3));
  EXPECT_EQ(words_of("coordinates", 2048 + 8 * 9 + 4).back(), token(104, 1, std::uint64_t{3} << 40, 9));
  Stream(105, 2).bits((std::uint64_t{1} << 63) + 3, {&draw, 1});
  EXPECT_EQ(words_of("prompt_draws", 48).back(), draw);
  Stream(108, 7).substream(3).bits(2, {&draw, 1});
  EXPECT_EQ(words_of("substreams", 27).back(), draw);
  EXPECT_EQ(words_of("substream_ids", 35).back(), Stream(109, 2).substream(2).id());
  std::array<std::uint64_t, 72> normals;
  normal_words(110, 2, 0, normals);
  EXPECT_EQ(words_of("normals", 144 + 31).back(), normals[30]);
  const auto seeds = words_of("seeds", 17);
  const std::uint64_t from = (std::uint64_t{0x5eed} << 20) + (std::uint64_t{106} << 32);
  EXPECT_EQ(seeds.back(), token(from + 2, 0, 0, 0));
  EXPECT_EQ(words_of("across_seeds", 2048 + 3).back(), token(from + (std::uint64_t{1} << 32) + 2, 0, 0, 1));
  EXPECT_THROW(find_layout("no such layout", 1), InputError);
}

}  // namespace
}  // namespace largo::battery
