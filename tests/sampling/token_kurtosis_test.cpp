#include "sampling/token_kurtosis.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "largo/measures/gaussian.hpp"
#include "largo/measures/product.hpp"

namespace largo {
namespace {

double kurtosis(const Measure& law) {
  return std::exp(token_kurtosis(law, Matrix::Identity(law.dimension(), law.dimension())).fourth);
}

double eighth(const Measure& law) {
  return std::exp(token_kurtosis(law, Matrix::Identity(law.dimension(), law.dimension())).eighth);
}

TEST(TokenKurtosis, BoundsThatOfAtomsHoweverRare) {
  for (const double p : {0.5, 1e-2, 1e-5, 1e-9}) {
    for (const double scale : {1e-3, 1.0, 1e3}) {
      const ProductMeasure law(1, three_point(scale, p));
      EXPECT_GE(kurtosis(law), 0.999 / p) << p;
      EXPECT_LE(kurtosis(law), 3 / p) << p;
      EXPECT_LE(eighth(law), 6 / p) << p;
      EXPECT_GE(eighth(law), 0.15 / p) << p;  // a ratio of bounds
    }
  }
}

TEST(TokenKurtosis, BoundsThatOfGaussians) {
  const double one = kurtosis(GaussianMeasure::standard(1));
  EXPECT_GE(one, 3);
  EXPECT_LE(one, 10);
  const double three = kurtosis(GaussianMeasure::standard(3));  // (d + 2)/d
  EXPECT_GE(three, 5.0 / 3);
  EXPECT_LE(three, 10);
  EXPECT_EQ(kurtosis(GaussianMeasure(Vector::Ones(2), Matrix::Zero(2, 2))), 1);
}

TEST(TokenKurtosis, LooksAtTheValuesToo) {
  // The second coordinate is small and rare; only V sees it alone.
  const ProductMeasure law(std::vector<CoordinateLawPtr>{rademacher(), three_point(0.1, 1e-4)});
  Matrix V(1, 2);
  V << 0, 1;
  EXPECT_LE(kurtosis(law), 10);
  EXPECT_GE(std::exp(token_kurtosis(law, V).fourth), 1e4);
}

// Where rounding hides what atoms do to the log-partition near zero, the bound is loose, and a bound.
TEST(TokenKurtosis, StaysABoundWhereRoundingHidesAtoms) {
  for (const double p : {1e-14, 1e-18, 1e-30}) {
    EXPECT_GE(kurtosis(ProductMeasure(1, three_point(1, p))), 0.999 / p) << p;
  }
}

}  // namespace
}  // namespace largo
