// The words and normals of the prompt kernels, against Random123 and against Box and Muller's method in
// float64, at every SIMD level.
#include "random/float_draws.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include "largo/numerics/simd_level.hpp"
#include "support/every_simd_level.hpp"

namespace largo::float_draws_test {
namespace {

struct Pair {
  std::uint32_t first, second;
};

std::uint32_t reference_word(const random::DrawAddress& address, std::uint64_t counter, std::uint64_t word) {
  const std::uint64_t c = address.first + counter;
  const philox4x32_ctr_t in = {{static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(c >> 32),
                                static_cast<std::uint32_t>(address.stream),
                                static_cast<std::uint32_t>(address.stream >> 32)}};
  const philox4x32_key_t key = {
      {static_cast<std::uint32_t>(address.seed), static_cast<std::uint32_t>(address.seed >> 32)}};
  return philox4x32(in, key).v[word];
}

/// The words of token t, as described in float_draws.hpp.
Pair reference_words(const random::DrawAddress& address, std::uint64_t t) {
  const std::uint64_t word = t % 2 == 0 ? 0 : 2;
  return {reference_word(address, t / 2, word), reference_word(address, t / 2, word + 1)};
}

/// Radius and angle of the normals of token t, as described in float_draws.hpp; the angle has 16 bits.
Pair reference_polar(const random::DrawAddress& address, std::uint64_t t) {
  const std::uint64_t n = t / 32, v = t / 8 % 4, j = t / 2 % 4, k = t % 2;
  const std::uint32_t angles = reference_word(address, 16 * n + 8 + j, v / 2 + 2 * k);
  return {reference_word(address, 16 * n + 4 * (v / 2) + j, v % 2 + 2 * k),
          v % 2 == 0 ? angles & 0xffff : angles >> 16};
}

class FloatDraws : public test::EverySimdLevel {};

INSTANTIATE_TEST_SUITE_P(EveryLevel, FloatDraws, ::testing::ValuesIn(simd_levels()), test::level_name);

constexpr std::size_t kGroups = 23;  // two pairs of blocks, a block and a part of one
constexpr std::size_t kMost = kGroups * random::kTokensAtOnce;
constexpr random::DrawAddress kAddresses[] = {
    {0, 0, 0},
    {0xdeadbeefcafebabe, 0x123456789abcdef0, 48},
    {0xffffffffffffffff, 0xffffffff00000000, 0xfffffff0},           // carries into the second word
    {0x00000001ffffffff, 0x00000000ffffffff, 0xffffffffffffffe0}};  // wraps

TEST_P(FloatDraws, WordsAreRandom123s) {
  for (const random::DrawAddress& address : kAddresses) {
    for (std::size_t groups = 1; groups <= kGroups; ++groups) {
      alignas(64) std::uint32_t first[kMost], second[kMost];
      random::token_words(address, groups, first, second);
      for (std::size_t t = 0; t < groups * random::kTokensAtOnce; ++t) {
        const Pair expected = reference_words(address, t);
        ASSERT_EQ(first[t], expected.first) << t << " of " << groups << " groups";
        ASSERT_EQ(second[t], expected.second) << t << " of " << groups << " groups";
      }
    }
  }
}

// The normals are within the errors that float_normals-inl.hpp states: 2^-22 of the radius, 2^-23 of the
// circle for a radius of at most 6.66, and a rounding of the product.
TEST_P(FloatDraws, NormalsAreBoxMullerOfTheWords) {
  constexpr double kRelative = 0x1p-22 + 0x1p-24;
  constexpr double kOfTheCircle = 0x1p-23;
  for (const random::DrawAddress& address : kAddresses) {
    for (std::uint64_t call = 0; call < 400; ++call) {
      const std::size_t groups = 1 + call % kGroups;
      const random::DrawAddress at{address.seed + call, address.stream, address.first};
      alignas(64) float first[kMost], second[kMost];
      random::token_normals(at, groups, first, second);
      for (std::size_t t = 0; t < groups * random::kTokensAtOnce; ++t) {
        const Pair words = reference_polar(at, t);
        const float m = static_cast<float>(static_cast<std::int32_t>(words.first >> 1));
        const double u = double{m + 0.5F} * 0x1p-31;
        const double r = std::sqrt(-2 * std::log(u)) * (words.first % 2 == 1 ? -1 : 1);
        // The angle is half a step from the edge, within ±1.
        const auto angle = (static_cast<double>(words.second % 0x8000) + 0.5) * 0x1p-14;
        const double wrapped = angle < 1 ? angle : angle - 2;
        double x = r * std::cos(std::numbers::pi / 4 * wrapped),
               y = r * std::sin(std::numbers::pi / 4 * wrapped);
        if (words.second >= 0x8000) std::swap(x, y);
        const double circle = kOfTheCircle * std::abs(r);
        ASSERT_NEAR(first[t], x, kRelative * std::abs(x) + circle) << t;
        ASSERT_NEAR(second[t], y, kRelative * std::abs(y) + circle) << t;
      }
    }
  }
}

TEST_P(FloatDraws, SameBitsAsTheBestLevel) {
  alignas(64) float expected[2][kMost], got[2][kMost];
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const random::DrawAddress address{seed, 3, 16 * seed};
    const std::size_t groups = 1 + seed % kGroups;
    random::token_normals(address, groups, got[0], got[1]);
    force_simd_level(simd_levels().front());
    random::token_normals(address, groups, expected[0], expected[1]);
    force_simd_level(GetParam());
    for (std::size_t t = 0; t < groups * random::kTokensAtOnce; ++t) {
      ASSERT_EQ(got[0][t], expected[0][t]);
      ASSERT_EQ(got[1][t], expected[1][t]);
    }
  }
}

TEST_P(FloatDraws, PairsTogetherAreThoseAlone) {
  constexpr std::size_t kPairs = 3;
  constexpr std::uint64_t kApart = std::uint64_t{5} << 32;
  alignas(64) float together[2 * kPairs][kMost], alone[2][kMost];
  for (const random::DrawAddress& address : kAddresses) {
    for (std::size_t groups = 1; groups <= kGroups; ++groups) {
      random::token_normals(address, groups, {together[0], kMost, kPairs, kApart});
      for (std::size_t pair = 0; pair < kPairs; ++pair) {
        random::DrawAddress one = address;
        one.first += pair * kApart;
        random::token_normals(one, groups, alone[0], alone[1]);
        for (std::size_t t = 0; t < groups * random::kTokensAtOnce; ++t) {
          ASSERT_EQ(together[2 * pair][t], alone[0][t]) << pair << ' ' << groups << ' ' << t;
          ASSERT_EQ(together[2 * pair + 1][t], alone[1][t]) << pair << ' ' << groups << ' ' << t;
        }
      }
    }
  }
}

// The directions are those of a regular polygon, and all are equally likely: the angle 0x8000 j + i with
// either sign gives 2^17 of them.
TEST(FloatDirections, AreEquallySpaced) {
  // Takes every angle with every sign once, by the formula that NormalsAreBoxMullerOfTheWords tests.
  std::vector<double> turns;
  for (int sign = 0; sign < 2; ++sign) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const double half = (static_cast<double>(bits % 0x8000) + 0.5) * 0x1p-14;
      const double eighths = half < 1 ? half : half - 2;
      const double from_x_axis = bits < 0x8000 ? eighths : 2 - eighths;  // x and y exchanged
      turns.push_back(std::fmod(from_x_axis / 8 + 1 + 0.5 * sign, 1.0));
    }
  }
  std::ranges::sort(turns);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    ASSERT_EQ(turns[i], (static_cast<double>(i) + 0.5) * 0x1p-17) << i;
  }
}

}  // namespace
}  // namespace largo::float_draws_test
