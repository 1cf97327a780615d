#include "largo/numerics/parse_numbers.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "largo/numerics/check.hpp"

namespace largo {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ParseNumber, ReadsTheWholeText) {
  EXPECT_EQ(parse_number("x", "0.5"), 0.5);
  EXPECT_EQ(parse_number("x", " -1e6 "), -1e6);
  EXPECT_EQ(parse_number("x", "+2"), 2);
  for (const char* bad : {"", " ", "1x", "1 2", "nan", "inf", "1e999", "0x10", "--1", "1,2"}) {
    EXPECT_THROW(parse_number("x", bad), InputError) << bad;
  }
}

TEST(ParseNumbers, ReadsLists) {
  EXPECT_EQ(parse_numbers("x", "1,0,-1"), (std::vector<double>{1, 0, -1}));
  for (const char* bad : {"", "1,", ",1", "1,,2"}) EXPECT_THROW(parse_numbers("x", bad), InputError) << bad;
}

TEST(ParseLengths, ListsAndInfinity) {
  EXPECT_EQ(parse_lengths("L", "10,1e6,inf"), (std::vector<double>{10, 1e6, kInf}));
  EXPECT_EQ(parse_lengths("L", "1e300"), (std::vector<double>{1e300}));
  for (const char* bad :
       {"0", "-5", "0.5", "10.5", "nan", "1e400", "", "1:2", "inf:10:3", "1:10:1", "1:10:2.5"}) {
    EXPECT_THROW(parse_lengths("L", bad), InputError) << bad;
  }
}

TEST(ParseLengths, RangesAreEvenInLogarithm) {
  EXPECT_EQ(parse_lengths("L", "1e1:1e6:6"), (std::vector<double>{10, 100, 1000, 1e4, 1e5, 1e6}));
  const std::vector<double> lengths = parse_lengths("L", "1:7:3");
  EXPECT_EQ(lengths, (std::vector<double>{1, 3, 7}));  // √7 = 2.65, rounded to whole tokens
}

}  // namespace
}  // namespace largo
