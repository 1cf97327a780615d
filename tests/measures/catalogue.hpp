// The laws under test, each with its definition in high precision.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/measures/measure.hpp"
#include "measures/oracle.hpp"

namespace largo::test {

/// What the header of the law promises about its sub-Gaussian constant.
enum class Constant { smallest, upper_bound };

struct Case {
  std::string name;
  MeasurePtr law;
  OraclePtr oracle;
  Constant constant;
};

inline void PrintTo(const Case& law, std::ostream* out) { *out << law.name; }

const std::vector<Case>& catalogue();

/// The name of a parametrised test.
inline std::string case_name(const ::testing::TestParamInfo<Case>& entry) { return entry.param.name; }

/// Zero, and random directions from small to large.
std::vector<Vector> directions(const Measure& law);

/// Standard normal numbers, which depend on the id alone.
Matrix random_matrix(std::uint64_t id, std::ptrdiff_t rows, std::ptrdiff_t columns);

}  // namespace largo::test
