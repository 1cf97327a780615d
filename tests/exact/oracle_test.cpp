// The stored reference is what the oracle computes, today, on this machine.
#include <gtest/gtest.h>

#include <cmath>

#include "exact/oracle.hpp"
#include "largo/io/npy.hpp"

namespace largo::oracle_test {
namespace {

TEST(Oracle, ReproducesTheStoredReference) {
  const Matrix reference = NpyArray::open(LARGO_TEST_DATA "/softmax_moments.npy").matrix();
  int compared = 0;
  for (std::ptrdiff_t row = 0; row < reference.rows() && compared < 6; row += 61) {
    const double s = reference(row, 0);
    const double L = reference(row, 1);
    if (s == 0 || s > 10 || L == 1) continue;
    oracle::Oracle oracle{oracle::Real(s)};
    const auto values = oracle.at(oracle::Real(L)).values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(static_cast<double>(values[i]), reference(row, static_cast<std::ptrdiff_t>(i) + 2))
          << "row " << row << ", column " << i + 2;
    }
    ++compared;
  }
  EXPECT_EQ(compared, 6);
}

}  // namespace
}  // namespace largo::oracle_test
