// Which level is chosen, how it is forced, and that a bad LARGO_SIMD gives one clear line.
#include "largo/numerics/simd_level.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "largo/runtime/check.hpp"
#include "numerics/simd_math.hpp"

namespace largo::simd_level_test {
namespace {

// Runs in a process of its own, because the variable is read only at the first use.
[[noreturn]] void use_with_environment(const std::string& value) {
  setenv("LARGO_SIMD", value.c_str(), 1);
  try {
    double x = 0;
    numerics::exp({&x, 1}, {&x, 1});  // the first use is a kernel, not a question about the level
    std::fprintf(stderr, "level %s\n", simd_level().c_str());
  } catch (const InputError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(2);
  }
  std::exit(0);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

TEST(SimdLevel, ListsTheBestFirstAndScalarLast) {
  const auto levels = simd_levels();
  ASSERT_FALSE(levels.empty());
  EXPECT_EQ(levels.back(), "SCALAR");
  EXPECT_NE(std::find(levels.begin(), levels.end(), simd_level()), levels.end());
}

TEST(SimdLevel, ForcingALevelKeepsTheList) {
  const auto levels = simd_levels();
  for (const std::string& level : levels) {
    force_simd_level(lower(level));
    EXPECT_EQ(simd_level(), level);
    EXPECT_EQ(simd_levels(), levels);
  }
  force_simd_level(levels.front());
}

TEST(SimdLevel, UnknownLevelIsRefusedWithTheList) {
  const std::string before = simd_level();
  try {
    force_simd_level("mmx");
    FAIL() << "no exception";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("level is 'mmx', must be one of "), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("SCALAR"), std::string::npos) << error.what();
  }
  EXPECT_EQ(simd_level(), before);
}

TEST(SimdLevelDeathTest, EnvironmentChoosesTheLevel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::string& level : simd_levels()) {
    EXPECT_EXIT(use_with_environment(lower(level)), ::testing::ExitedWithCode(0), "level " + level);
  }
  EXPECT_EXIT(use_with_environment(""), ::testing::ExitedWithCode(0), "level " + simd_levels().front());
  EXPECT_EXIT(use_with_environment("avx9"), ::testing::ExitedWithCode(2),
              "environment: LARGO_SIMD is 'avx9', must be one of .*SCALAR");
}

}  // namespace
}  // namespace largo::simd_level_test
