// 1 - e^{-z} against expm1, at every remainder of the vectors.
#include "exact/complement.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace largo::complement_test {
namespace {

TEST(Complement, IsThatOfExpm1AtEveryRemainder) {
  constexpr double kFewUlp = 4 * std::numeric_limits<double>::epsilon();
  for (std::size_t count = 0; count <= 19; ++count) {
    std::vector<double> z, exponential, found(count + 1, -1);
    for (std::size_t i = 0; i < count; ++i) {
      z.push_back(i == 0 ? 0 : std::pow(10, 3 - 17 * static_cast<double>(i) / 19));
      exponential.push_back(std::exp(-z.back()));
    }
    exact::complements(z, exponential, {found.data(), count});
    for (std::size_t i = 0; i < count; ++i) {
      const double expected = -std::expm1(-z[i]);
      EXPECT_LE(std::abs(found[i] - expected), kFewUlp * expected) << z[i];
    }
    EXPECT_EQ(found[count], -1);  // nothing is written beyond the end
  }
}

}  // namespace
}  // namespace largo::complement_test
