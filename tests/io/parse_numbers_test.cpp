#include "io/parse_numbers.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/runtime/check.hpp"

namespace largo::parse_numbers_test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(ParseNumber, ReadsTheWholeText) {
  EXPECT_EQ(io::parse_number("x", "0.5"), 0.5);
  EXPECT_EQ(io::parse_number("x", " -1e6 "), -1e6);
  EXPECT_EQ(io::parse_number("x", "+2"), 2);
  for (const char* bad :
       {"", " ", "1x", "1 2", "nan", "inf", "1e999", "0x10", "--1", "+-1", "-+1", "++1", "+", "1,2"}) {
    EXPECT_THROW(io::parse_number("x", bad), InputError) << bad;
    EXPECT_FALSE(io::is_too_small(bad)) << bad;
  }
}

TEST(ParseNumber, SaysWhatIsTooSmall) {
  const std::string zeros(400, '0');
  for (const std::string& bad :
       {std::string("1e-400"), std::string(" -1E-400"), std::string("+2e-324"), "0." + zeros + "1",
        "1" + zeros + "e-1000", std::string("1e-99999999999999999999")}) {
    EXPECT_TRUE(io::is_too_small(bad)) << bad;
    for (const auto& parse : {+[](const std::string& text) { io::parse_number("x", text); },
                              +[](const std::string& text) { io::parse_numbers("x", "1," + text); },
                              +[](const std::string& text) { io::parse_lengths("x", text); }}) {
      try {
        parse(bad);
        ADD_FAILURE() << bad;
      } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("too small for a double, below 5e-324"), std::string::npos)
            << error.what();
      }
    }
  }
  for (const std::string& other :
       {std::string("0"), std::string("0e-999"), std::string("5e-324"), std::string("1e400"), "1" + zeros,
        "0." + zeros + "1e1000", std::string("1e99999999999999999999"), std::string("x"),
        std::string("1e-400x")}) {
    EXPECT_FALSE(io::is_too_small(other)) << other;
  }
}

TEST(ParseNumbers, ReadsLists) {
  EXPECT_EQ(io::parse_numbers("x", "1,0,-1"), (std::vector<double>{1, 0, -1}));
  for (const char* bad : {"", "1,", ",1", "1,,2"})
    EXPECT_THROW(io::parse_numbers("x", bad), InputError) << bad;
}

TEST(ParseLengths, ListsAndInfinity) {
  EXPECT_EQ(io::parse_lengths("L", "10,1e6,inf"), (std::vector<double>{10, 1e6, kInf}));
  EXPECT_EQ(io::parse_lengths("L", "1e300"), (std::vector<double>{1e300}));
  for (const char* bad :
       {"0", "-5", "0.5", "10.5", "nan", "1e400", "", "1:2", "inf:10:3", "1:10:1", "1:10:2.5"}) {
    EXPECT_THROW(io::parse_lengths("L", bad), InputError) << bad;
  }
}

TEST(ParseLengths, RangesAreEvenInLogarithm) {
  EXPECT_EQ(io::parse_lengths("L", "1e1:1e6:6"), (std::vector<double>{10, 100, 1000, 1e4, 1e5, 1e6}));
  const std::vector<double> lengths = io::parse_lengths("L", "1:7:3");
  EXPECT_EQ(lengths, (std::vector<double>{1, 3, 7}));  // √7 = 2.65, rounded to whole tokens
}

}  // namespace
}  // namespace largo::parse_numbers_test
