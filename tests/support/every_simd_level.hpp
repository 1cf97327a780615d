// Suites of tests that run at every SIMD level of this machine.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "largo/numerics/simd_level.hpp"

namespace largo::test {

/// Derive a suite from this class, and instantiate it with
///   INSTANTIATE_TEST_SUITE_P(EveryLevel, Suite, ::testing::ValuesIn(simd_levels()), test::level_name);
class EverySimdLevel : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_simd_level(GetParam()); }
  void TearDown() override { force_simd_level(simd_levels().front()); }
};

/// The last part of the name of a test of such a suite.
inline std::string level_name(const ::testing::TestParamInfo<std::string>& level) { return level.param; }

}  // namespace largo::test
