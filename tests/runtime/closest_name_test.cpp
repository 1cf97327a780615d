// Finds the name that was meant by a misspelt one.
#include "runtime/closest_name.hpp"

#include <gtest/gtest.h>

namespace largo::closest_name_test {
namespace {

const std::vector<std::string> kOptions = {"--law",   "--d",    "--U",         "--query",
                                           "--L",     "--time", "--out",       "--seed",
                                           "--steps", "--cov",  "--step-size", "--tolerance"};

TEST(ClosestName, FindsMisspeltAbbreviatedAndLongerNames) {
  for (const auto& [given, meant] : {std::pair("--dim", "--d"),
                                     {"--dimension", "--d"},
                                     {"-law", "--law"},
                                     {"--lwa", "--law"},
                                     {"--length", "--L"},
                                     {"--stepsize", "--step-size"},
                                     {"--step_size", "--step-size"},
                                     {"--tol", "--tolerance"},
                                     {"--LAW", "--law"},
                                     {"--covariance", "--cov"},
                                     {"--sedd", "--seed"}}) {
    EXPECT_EQ(runtime::closest_name(given, kOptions), meant) << given;
  }
}

TEST(ClosestName, FindsNothingWhereNothingIsClose) {
  for (const char* given : {"", "--", "--x", "--verbose", "--colour"}) {
    EXPECT_EQ(runtime::closest_name(given, kOptions), std::nullopt) << given;
  }
  EXPECT_EQ(runtime::closest_name(std::string(100000, 'x'), kOptions), std::nullopt);
  EXPECT_EQ(runtime::closest_name("--law", {}), std::nullopt);
}

}  // namespace
}  // namespace largo::closest_name_test
