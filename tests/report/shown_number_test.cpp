#include "report/report.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace largo::test::shown_number_test {
namespace {

TEST(ShownNumber, AsThePageHasThem) {  // the same as in web/tests/unit/format.test.ts
  EXPECT_EQ(report::shown(0), "0");
  EXPECT_EQ(report::shown(3.1e-9), "3.1×10⁻⁹");
  EXPECT_EQ(report::shown(1e-12), "10⁻¹²");
  EXPECT_EQ(report::shown(-1e12), "−10¹²");
  EXPECT_EQ(report::shown(999999), "999999");
  EXPECT_EQ(report::shown(1e6), "10⁶");
  EXPECT_EQ(report::shown(1.0 / 3, 5), "0.33333");
  EXPECT_EQ(report::shown(-4), "−4");
  EXPECT_EQ(report::shown(std::numeric_limits<double>::infinity()), "∞");
}

TEST(ShownNumber, ALengthKeepsItsTokens) {
  EXPECT_EQ(report::shown(4788590), "4788590");
  EXPECT_EQ(report::shown(4788589, 6), "4788589");
  EXPECT_EQ(report::shown(47000000), "4.7×10⁷") << "nothing is lost";
  EXPECT_EQ(report::shown(1234567.5, 5), "1.2346×10⁶");
  EXPECT_EQ(report::shown(12345678901), "1.23×10¹⁰") << "too long to be read";
}

}  // namespace
}  // namespace largo::test::shown_number_test
