#include "estimation/token_kurtosis.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"

namespace largo::token_kurtosis_test {
namespace {

double kurtosis(const Measure& law) {
  return std::exp(estimation::token_kurtosis(law, Matrix::Identity(law.dimension(), law.dimension())).fourth);
}

double eighth(const Measure& law) {
  return std::exp(estimation::token_kurtosis(law, Matrix::Identity(law.dimension(), law.dimension())).eighth);
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
  EXPECT_GE(std::exp(estimation::token_kurtosis(law, V).fourth), 1e4);
}

MeasurePtr normal(const Vector& mean, const Vector& variances) {
  return std::make_shared<GaussianMeasure>(mean, Matrix(variances.asDiagonal()));
}

// A fifth of the second moment lies in the last coordinate and comes with one token in 10⁹; the kurtosis is
// the atom's part of E‖x‖⁴, p r⁴, over (4 + p r²)².
TEST(TokenKurtosis, LooksAtEveryCoordinate) {
  for (const Eigen::Index d : {5, 40}) {
    Vector variances = Vector::Constant(d, 4.0 / static_cast<double>(d - 1));
    variances[d - 1] = 1e-6;
    const MixtureMeasure law(Vector{{1 - 1e-9, 1e-9}}, {normal(Vector::Zero(d), variances),
                                                        normal(3e4 * Vector::Unit(d, d - 1), variances)});
    const double least = 1e-9 * std::pow(3e4, 4) / std::pow(4 + 0.9, 2);
    EXPECT_GE(kurtosis(law), least) << d;
    EXPECT_LE(kurtosis(law), 4 * least) << d;
  }
}

// The bound is the same in closed form and from log-partitions.
TEST(TokenKurtosis, MixturesOfGaussiansAreLawsLikeOthers) {
  class Opaque final : public Measure {
   public:
    explicit Opaque(MeasurePtr law) : Measure(law->dimension()), law_(std::move(law)) {}
    double log_partition(const ConstVectorRef& a) const override { return law_->log_partition(a); }
    Tilt tilt(const ConstVectorRef& a, TiltOrder order) const override { return law_->tilt(a, order); }

   private:
    MeasurePtr law_;
  };
  const auto law = std::make_shared<MixtureMeasure>(
      Vector{{0.9, 0.09, 0.01}}, std::vector<MeasurePtr>{normal(Vector{{1, 0, 2}}, Vector{{1, 2, 0.5}}),
                                                         normal(Vector{{0, -3, 1}}, Vector{{0, 1, 4}}),
                                                         normal(Vector{{-5, 9, 9}}, Vector{{1, 1, 1}})});
  EXPECT_NEAR(kurtosis(*law), kurtosis(Opaque(law)), 1e-9 * kurtosis(*law));
  EXPECT_NEAR(eighth(*law), eighth(Opaque(law)), 1e-9 * eighth(*law));
}

TEST(TokenKurtosis, OfAPromptIsThatOfItsTokens) {
  constexpr int kTokens = 1000;
  RowMatrix tokens = RowMatrix::Zero(kTokens, 6);
  tokens(17, 5) = 3;
  // One atom of probability p = 1e-3 gives 1/p − 3 + p…; the rest is slack.
  EXPECT_GE(kurtosis(EmpiricalMeasure(tokens)), kTokens - 5);
  EXPECT_LE(kurtosis(EmpiricalMeasure(tokens)), 3 * kTokens);
  EXPECT_GE(eighth(EmpiricalMeasure(tokens)), kTokens - 5);
}

// Where rounding hides what atoms do to the log-partition near zero, the bound is loose, but still a bound.
TEST(TokenKurtosis, StaysABoundWhereRoundingHidesAtoms) {
  for (const double p : {1e-14, 1e-18, 1e-30}) {
    EXPECT_GE(kurtosis(ProductMeasure(1, three_point(1, p))), 0.999 / p) << p;
  }
}

}  // namespace
}  // namespace largo::token_kurtosis_test
