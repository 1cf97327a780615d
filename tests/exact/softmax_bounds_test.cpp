// Bounds on softmax statistics against their exact values.
#include "exact/softmax_bounds.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "largo/exact/softmax_moments.hpp"

namespace largo::softmax_bounds_test {
namespace {

TEST(SoftmaxBounds, AreAboveTheStatistics) {
  for (const double s : {0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 9.0}) {
    for (const double L : {1.0, 2.0, 5.0, 30.0, 200.0, 1e3, 1e4, 1e6, 1e9, 1e15, 1e40, 1e200}) {
      SCOPED_TRACE(testing::Message() << "s = " << s << ", L = " << L);
      const SoftmaxMoments m = softmax_moments(s, L);
      const exact::SoftmaxBounds bounds = exact::softmax_bounds(s, L);
      const double slack = 1e-10;  // the accuracy of the moments
      const double tau = m.P2.value - 2 * m.P3.value + m.P2P2.value;
      EXPECT_GE(bounds.P2 * (1 + slack), m.P2.value);
      EXPECT_GE(bounds.P2 * (1 + slack), tau + m.P2P2.value);
      EXPECT_GE(bounds.mse * (1 + slack), m.mse.value);
      EXPECT_GE(bounds.variance_mse * (1 + slack), m.variance_mse.value);
      EXPECT_GE(bounds.squared_spread * (1 + slack), m.squared_spread.value);
      EXPECT_GE(bounds.variance_P2 * (1 + slack), std::abs(m.variance_P2.value));
    }
  }
}

// Once L is far above e^{s²}, they are sharp.
TEST(SoftmaxBounds, AreSharpForLongPrompts) {
  for (const double s : {0.0, 1.0, 2.0}) {
    const double L = 1e9 * std::exp(s * s);
    const SoftmaxMoments m = softmax_moments(s, L);
    const exact::SoftmaxBounds bounds = exact::softmax_bounds(s, L);
    EXPECT_LT(bounds.P2, 1.001 * m.P2.value);
    EXPECT_LT(bounds.mse, 1.001 * m.mse.value);
    EXPECT_LT(bounds.variance_mse, 1.01 * m.variance_mse.value);
    EXPECT_LT(bounds.squared_spread, 1.01 * m.squared_spread.value);
  }
}

// The bound is the least over δ: no other δ gives a smaller one.
TEST(SoftmaxBounds, TakeTheBestDelta) {
  for (double log_y = -30; log_y < -2; log_y += 0.37) {
    const double y = std::exp(log_y);
    double least = 1;
    for (int i = 1; i < 20000; ++i) {
      const double delta = i / 20000.0;
      least = std::min(least, y / ((1 - delta) * (1 - delta)) + std::exp(-delta * delta / (2 * y)));
    }
    const exact::WeightBound found = exact::weight_bound(log_y);
    EXPECT_LE(found.P2, least * (1 + 1e-3)) << y;
  }
  EXPECT_EQ(exact::weight_bound(1e9).P2, 1);
}

}  // namespace
}  // namespace largo::softmax_bounds_test
