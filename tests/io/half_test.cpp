// Checks every 16-bit pattern against the definition of the format, (-1)^s * (implicit bit . fraction) * 2^e.
#include "io/bytes.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace largo::test::half_test {
namespace {

struct Format {
  int exponent_bits;
  int fraction_bits;
};

double by_definition(std::uint16_t bits, Format format) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int fraction = bits % (1 << format.fraction_bits);
  const int exponent = (bits >> format.fraction_bits) % (1 << format.exponent_bits);
  const double sign = bits >> 15 != 0 ? -1 : 1;
  if (exponent == (1 << format.exponent_bits) - 1) return fraction != 0 ? NAN : sign * INFINITY;
  const int implicit = exponent == 0 ? 0 : 1 << format.fraction_bits;
  return sign * std::ldexp(implicit + fraction, std::max(exponent, 1) - bias - format.fraction_bits);
}

template <class Convert>
void expect_every_pattern(Convert convert, Format format) {
  for (int pattern = 0; pattern <= 0xffff; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const double expected = by_definition(bits, format);
    const double actual = convert(bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(actual)) << pattern;
    } else {
      ASSERT_EQ(actual, expected) << pattern;
      ASSERT_EQ(std::signbit(actual), std::signbit(expected)) << pattern;
    }
  }
}

TEST(Half, Float16IsExactForEveryPattern) { expect_every_pattern(io::from_float16, {5, 10}); }

TEST(Half, Bfloat16IsExactForEveryPattern) { expect_every_pattern(io::from_bfloat16, {8, 7}); }

TEST(Half, KnownValues) {
  EXPECT_EQ(io::from_float16(0x3c00), 1.0);
  EXPECT_EQ(io::from_float16(0x7bff), 65504.0);
  EXPECT_EQ(io::from_float16(0x0001), 0x1p-24);
  EXPECT_EQ(io::from_bfloat16(0x3f80), 1.0);
  EXPECT_EQ(io::from_bfloat16(0xc049), -3.140625);
}

}  // namespace
}  // namespace largo::test::half_test
