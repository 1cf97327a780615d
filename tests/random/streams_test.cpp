// Addressing: known answers, agreement with Random123, carries, wrap-around, every start and length, at every
// SIMD level. distribution_test.cpp tests the draws as random numbers.
#include "largo/random/streams.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include "largo/numerics/simd_level.hpp"
#include "largo/runtime/check.hpp"
#include "support/every_simd_level.hpp"

namespace largo::streams_test {
namespace {

using Words = std::array<std::uint32_t, 4>;

constexpr std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{high} << 32 | low;
}

/// Random123's own function, with the layout of streams.hpp.
std::array<std::uint64_t, 2> reference(std::uint64_t key, std::uint64_t high, std::uint64_t counter) {
  const philox4x32_ctr_t c = {{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                               static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)}};
  const philox4x32_key_t k = {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}};
  const philox4x32_ctr_t out = philox4x32(c, k);
  return {join(out.v[0], out.v[1]), join(out.v[2], out.v[3])};
}

std::uint64_t reference_draw(const Stream& stream, std::uint64_t index) {
  return reference(stream.seed(), stream.id(), index / 2)[index % 2];
}

class Streams : public test::EverySimdLevel {};

INSTANTIATE_TEST_SUITE_P(EveryLevel, Streams, ::testing::ValuesIn(simd_levels()), test::level_name);

TEST_P(Streams, KnownAnswers) {
  // philox4x32 with 10 rounds, from the file kat_vectors of Random123.
  struct Known {
    Words counter;
    std::uint32_t key0, key1;
    Words output;
  };
  const std::uint32_t ones = 0xffffffff;
  const Known known[] = {
      {{0, 0, 0, 0}, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{ones, ones, ones, ones}, ones, ones, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       0xa4093822,
       0x299f31d0,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Known& k : known) {
    // The answer appears in every lane of a block, from starts up to 16 counters before.
    for (std::uint64_t before = 0; before < 16; ++before) {
      std::vector<std::uint64_t> blocks(2 * 17);
      philox_blocks(join(k.key0, k.key1), join(k.counter[2], k.counter[3]),
                    join(k.counter[0], k.counter[1]) - before, blocks);
      EXPECT_EQ(blocks[2 * before], join(k.output[0], k.output[1])) << before;
      EXPECT_EQ(blocks[2 * before + 1], join(k.output[2], k.output[3])) << before;
    }
  }
}

TEST_P(Streams, AgreesWithRandom123) {
  std::mt19937_64 engine(1);
  for (int repetition = 0; repetition < 500; ++repetition) {
    const Stream stream(engine(), engine());
    const std::uint64_t first = engine();
    std::vector<std::uint64_t> draws(engine() % 50);
    stream.bits(first, draws);
    for (std::size_t i = 0; i < draws.size(); ++i) ASSERT_EQ(draws[i], reference_draw(stream, first + i));
  }
}

TEST_P(Streams, CountersCarryAndWrap) {
  const Stream stream(12, 34);
  // The low word of the counter overflows at draw 2^33, the index itself at 2^64; also around 2^32 and 2^63.
  for (const std::uint64_t at :
       {std::uint64_t{1} << 32, std::uint64_t{1} << 33, std::uint64_t{1} << 63, std::uint64_t{0}}) {
    for (std::uint64_t before = 1; before < 40; ++before) {
      std::vector<std::uint64_t> draws(80);
      std::vector<double> uniforms(80);
      stream.bits(at - before, draws);
      stream.uniforms(at - before, uniforms);
      for (std::size_t i = 0; i < draws.size(); ++i) {
        const std::uint64_t expected = reference_draw(stream, at - before + i);
        ASSERT_EQ(draws[i], expected) << at << " " << before << " " << i;
        ASSERT_EQ(uniforms[i], (static_cast<double>(expected >> 12) + 0.5) * 0x1p-52);
      }
    }
  }
}

TEST_P(Streams, NormalsAreBoxMullerOfTheUniforms) {
  const Stream stream(5, 6);
  std::vector<double> u(2000), z(2000);
  stream.uniforms(100, u);
  stream.normals(100, z);
  constexpr double kTolerance =
      1e-14;  // |z| < 9, and a few ulp from each of log, sqrt, sin and the C library
  for (std::size_t i = 0; i < u.size(); i += 2) {
    const double radius = std::sqrt(-2 * std::log(u[i]));
    const double angle = 6.283185307179586 * u[i + 1];
    ASSERT_NEAR(z[i], radius * std::cos(angle), kTolerance);
    ASSERT_NEAR(z[i + 1], radius * std::sin(angle), kTolerance);
  }
}

TEST_P(Streams, EveryStartAndLength) {
  const Stream stream(8, 9);
  std::vector<std::uint64_t> bits(80);
  std::vector<double> uniforms(80), normals(80);
  stream.bits(1000, bits);
  stream.uniforms(1000, uniforms);
  stream.normals(1000, normals);
  for (std::size_t start = 0; start < 20; ++start) {
    for (std::size_t length = 0; length <= 40; ++length) {
      std::vector<std::uint64_t> b(length + 1, 77);
      std::vector<double> u(length + 1, -7), z(length + 1, -77);
      stream.bits(1000 + start, std::span(b).first(length));
      stream.uniforms(1000 + start, std::span(u).first(length));
      stream.normals(1000 + start, std::span(z).first(length));
      for (std::size_t i = 0; i < length; ++i) {
        ASSERT_EQ(b[i], bits[start + i]);
        ASSERT_EQ(u[i], uniforms[start + i]);
        ASSERT_EQ(z[i], normals[start + i]);
      }
      ASSERT_EQ(b[length], 77U);
      ASSERT_EQ(u[length], -7);
      ASSERT_EQ(z[length], -77);
    }
  }
}

TEST_P(Streams, SameNormalsAsScalar) {
  const Stream stream(1, 2);
  std::vector<double> here(100001), scalar(100001);
  stream.normals(3, here);
  force_simd_level("scalar");
  stream.normals(3, scalar);
  EXPECT_EQ(here, scalar);
}

TEST(Stream, SubstreamsDiffer) {
  std::set<std::uint64_t> ids;
  for (std::uint64_t id = 0; id < 100; ++id) {
    for (std::uint64_t k = 0; k < 100; ++k) ids.insert(Stream(3, id).substream(k).id());
  }
  EXPECT_EQ(ids.size(), 10000U);
  EXPECT_EQ(Stream(3, 4).substream(5).id(), Stream(3, 4).substream(5).id());
  EXPECT_EQ(Stream(3, 4).substream(5).seed(), 3U);
  EXPECT_NE(Stream(3, 4).substream(5).id(), Stream(4, 4).substream(5).id());
  EXPECT_NE(Stream(3, 4).substream(5).id(), Stream(3, 5).substream(4).id());
}

TEST(Stream, BlocksComeInPairs) {
  std::vector<std::uint64_t> odd(3);
  EXPECT_THROW(philox_blocks(0, 0, 0, odd), InputError);
}

}  // namespace
}  // namespace largo::streams_test
