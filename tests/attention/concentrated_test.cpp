// Softmax that concentrates on a few tokens: the covariance is then far smaller than the prompt is wide, and
// must still be right relative to itself.
#include <cmath>

#include <gtest/gtest.h>

#include "largo/measures/empirical.hpp"

namespace largo::concentrated_test {
namespace {

constexpr double kFloat64 = 1e-13;  // two tokens with exact scores: a few roundings
constexpr double kFloat32 = 1e-5;   // the weights carry float32's exponential and scores up to 20

// Tokens ±1 along a: the variance is 1/cosh²(a).
double exact_variance(double a) { return 1 / (std::cosh(a) * std::cosh(a)); }

class Concentrated : public ::testing::TestWithParam<double> {};

TEST_P(Concentrated, CovarianceOfTwoTokens) {
  const Vector direction = Vector::Constant(1, GetParam());
  const RowMatrix tokens{{-1.0}, {1.0}};
  const EmpiricalMeasure wide(tokens);
  const EmpiricalMeasure narrow(tokens, std::nullopt, Arithmetic::float32);
  const double exact = exact_variance(GetParam());
  EXPECT_NEAR(wide.tilt(direction, TiltOrder::covariance).covariance(0, 0) / exact, 1, kFloat64);
  EXPECT_NEAR(narrow.tilt(direction, TiltOrder::covariance).covariance(0, 0) / exact, 1, kFloat32);
}

TEST_P(Concentrated, ProductsOfTwoTokens) {
  const Vector direction = Vector::Constant(1, GetParam());
  const EmpiricalMeasure prompt(RowMatrix{{-1.0}, {1.0}});
  const Matrix product = prompt.tilted_covariance_products(direction, Vector::Constant(1, 3.0));
  EXPECT_NEAR(product(0, 0) / (3 * exact_variance(GetParam())), 1, kFloat64);
}

INSTANTIATE_TEST_SUITE_P(Scores, Concentrated, ::testing::Values(0.5, 3.0, 10.0, 18.0, 20.0));

TEST(ConcentratedPrompt, VariancesAreNeverNegative) {
  const Stream stream(3, 0);
  for (std::uint64_t k = 0; k < 200; ++k) {
    RowMatrix tokens(50, 3);
    stream.substream(k).normals(0, {tokens.data(), 150});
    tokens *= 3;
    const EmpiricalMeasure prompt(tokens, std::nullopt, Arithmetic::float32);
    const Tilt tilt = prompt.tilt(Vector{{4.0, 3.0, -5.0}}, TiltOrder::covariance);
    EXPECT_GE(tilt.covariance.diagonal().minCoeff(), 0) << "prompt " << k;
  }
}

// One short prompt and many queries on several threads: the threads share out batches, not segments.
TEST(ShortPrompt, ManyQueriesHaveTheSameBitsOnAnyThreads) {
  RowMatrix tokens(100, 4);
  Stream(5, 0).normals(0, {tokens.data(), 400});
  Matrix directions(4, 300);
  Stream(5, 1).normals(0, {directions.data(), 1200});
  const EmpiricalMeasure prompt(tokens);
  const auto one = prompt.tilts(directions, TiltOrder::covariance, Execution{1, 0});
  const auto seven = prompt.tilts(directions, TiltOrder::covariance, Execution{7, 0});
  for (std::size_t q = 0; q < one.size(); ++q) {
    EXPECT_EQ(one[q].mean, seven[q].mean);
    EXPECT_EQ(one[q].covariance, seven[q].covariance);
  }
}

}  // namespace
}  // namespace largo::concentrated_test
