// The words and normals of the prompt kernels, against Random123 and against Box and Muller in float64, at
// every SIMD level.
#include "sampling/float_draws.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include "largo/numerics/simd_level.hpp"

namespace largo {
namespace {

struct Pair {
  std::uint32_t first, second;
};

/// Of token t, as float_draws.hpp says.
Pair reference_words(const DrawAddress& address, std::uint64_t t) {
  const std::uint64_t c = address.first + t / 2;
  const philox4x32_ctr_t counter = {{static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(c >> 32),
                                     static_cast<std::uint32_t>(address.stream),
                                     static_cast<std::uint32_t>(address.stream >> 32)}};
  const philox4x32_key_t key = {
      {static_cast<std::uint32_t>(address.seed), static_cast<std::uint32_t>(address.seed >> 32)}};
  const philox4x32_ctr_t out = philox4x32(counter, key);
  return t % 2 == 0 ? Pair{out.v[0], out.v[1]} : Pair{out.v[2], out.v[3]};
}

class FloatDraws : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_level(GetParam()); }
  void TearDown() override { force_simd_level(simd_levels().front()); }
};

INSTANTIATE_TEST_SUITE_P(EveryLevel, FloatDraws, ::testing::ValuesIn(simd_levels()),
                         [](const auto& level) { return level.param; });

constexpr std::size_t kGroups = 7;
constexpr std::size_t kMost = kGroups * kTokensAtOnce;
constexpr DrawAddress kAddresses[] = {
    {0, 0, 0},
    {0xdeadbeefcafebabe, 0x123456789abcdef0, 4},
    {0xffffffffffffffff, 0xffffffff00000000, 0xfffffff8},           // carries into the second word
    {0x00000001ffffffff, 0x00000000ffffffff, 0xffffffffffffffe0}};  // wraps

TEST_P(FloatDraws, WordsAreRandom123s) {
  for (const DrawAddress& address : kAddresses) {
    for (std::size_t groups = 1; groups <= kGroups; ++groups) {
      alignas(64) std::uint32_t first[kMost], second[kMost];
      token_words(address, groups, first, second);
      for (std::size_t t = 0; t < groups * kTokensAtOnce; ++t) {
        const Pair expected = reference_words(address, t);
        ASSERT_EQ(first[t], expected.first) << t << " of " << groups << " groups";
        ASSERT_EQ(second[t], expected.second) << t << " of " << groups << " groups";
      }
    }
  }
}

// Within the errors that float_normals-inl.hpp states: of the radius 2^-22, of the circle 2^-23 for a radius
// of at most 6.66, and a rounding of the product.
TEST_P(FloatDraws, NormalsAreBoxMullerOfTheWords) {
  constexpr double kRelative = 0x1p-22 + 0x1p-24;
  constexpr double kOfTheCircle = 0x1p-23;
  for (const DrawAddress& address : kAddresses) {
    for (std::uint64_t call = 0; call < 400; ++call) {
      const std::size_t groups = 1 + call % kGroups;
      const DrawAddress at{address.seed + call, address.stream, address.first};
      alignas(64) float first[kMost], second[kMost];
      token_normals(at, groups, first, second);
      for (std::size_t t = 0; t < groups * kTokensAtOnce; ++t) {
        const Pair words = reference_words(at, t);
        const float m = static_cast<float>(static_cast<std::int32_t>(words.first >> 1));
        const double u = double{m + 0.5F} * 0x1p-31;
        const double r = std::sqrt(-2 * std::log(u)) * (words.first % 2 == 1 ? -1 : 1);
        const auto angle = static_cast<double>(static_cast<std::int32_t>(words.second << 1)) * 0x1p-31;
        double x = r * std::cos(std::numbers::pi / 4 * angle), y = r * std::sin(std::numbers::pi / 4 * angle);
        if (words.second >> 31 == 1) std::swap(x, y);
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
    const DrawAddress address{seed, 3, 8 * seed};
    token_normals(address, kGroups, got[0], got[1]);
    force_simd_level(simd_levels().front());
    token_normals(address, kGroups, expected[0], expected[1]);
    force_simd_level(GetParam());
    for (std::size_t t = 0; t < kMost; ++t) {
      ASSERT_EQ(got[0][t], expected[0][t]);
      ASSERT_EQ(got[1][t], expected[1][t]);
    }
  }
}

}  // namespace
}  // namespace largo
