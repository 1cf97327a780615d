#include "largo/concentration/asymptotic_exponent.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "layers.hpp"

namespace largo::test::asymptotic_exponent_test {
namespace {

// U = σ e1 e1ᵀ and V = e2ᵀ: the values are independent of the scores, so that the output error is E_z E[P_2].
AttentionLayer rank_one(double sigma) {
  Matrix U = Matrix::Zero(2, 2), V(1, 2);
  U(0, 0) = sigma;
  V << 0, 1;
  return {standard_gaussian(2), U, V, standard_gaussian(2)};
}

TEST(AsymptoticExponent, OfTheAveragedP2) {
  for (const double sigma : {0.4, 1.0, 1.5, 2.0}) {
    const AttentionLayer layer = rank_one(sigma);
    const ExactErrors errors(layer);
    const double slope = std::log(errors(1e40).output.value / errors(1e80).output.value) / std::log(1e40);
    EXPECT_NEAR(slope, asymptotic_exponent(layer)->value, 0.02) << sigma;
  }
}

// The local exponent tends to the asymptotic one for layers and queries of any shape, but only like 1/ln L.
TEST(AsymptoticExponent, IsApproachedByAnisotropicLayers) {
  for (const double scale : {0.5, 1.2}) {
    AttentionLayer layer{
        test::centred_gaussian(random_matrix(3, 3, 1)), scale * random_matrix(3, 2, 2),
        random_matrix(2, 3, 3),
        std::make_shared<GaussianMeasure>(random_vector(2, 4), Matrix{{1.0, 0.6}, {0.6, 2.0}})};
    ConcentrationPlan plan;
    plan.lengths = {1e60, 1e150, 1e290};
    const auto rows = concentration_grid(layer, plan);
    const double limit = asymptotic_exponent(layer)->value;
    constexpr double kDistance[] = {0.05, 0.025, 0.015};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_NEAR(rows[i].exponents.output->value, limit, kDistance[i]) << scale << ", L = " << rows[i].L;
    }
  }
}

TEST(AsymptoticExponent, UsesTheLargestSpread) {
  const AttentionLayer layer{standard_gaussian(2), Matrix{{0.3, 0}, {0, 2}}, Matrix::Identity(2, 2),
                             standard_gaussian(2)};
  EXPECT_NEAR(*asymptotic_exponent(layer)->spread, 2, 1e-14);
  EXPECT_NEAR(asymptotic_exponent(layer, 0.5)->value, averaged_exponent(1), 1e-14);
  AttentionLayer flat = layer;
  flat.U.setZero();
  EXPECT_EQ(asymptotic_exponent(flat)->value, 1);
  // The widest component of a mixture of queries decides.
  AttentionLayer mixed = layer;
  mixed.queries = std::make_shared<const MixtureMeasure>(
      Vector::Ones(2), std::vector<MeasurePtr>{test::centred_gaussian(0.1 * Matrix::Identity(2, 2)),
                                               test::centred_gaussian(1.5 * Matrix::Identity(2, 2))});
  EXPECT_NEAR(asymptotic_exponent(mixed)->value, averaged_exponent(3), 1e-14);
}

TEST(AsymptoticExponent, IsOneForBoundedQueries) {
  const AttentionLayer layer{standard_gaussian(2), 2 * Matrix::Identity(2, 2), Matrix::Identity(2, 2),
                             Vector(random_vector(2, 1))};
  EXPECT_EQ(asymptotic_exponent(layer)->value, 1);
  ConcentrationPlan plan;
  plan.lengths = {1e60};
  EXPECT_NEAR(concentration_grid(layer, plan)[0].exponents.output->value, 1, 1e-9);
  AttentionLayer other = layer;
  other.tokens = std::make_shared<ProductMeasure>(2, rademacher());
  other.queries = std::make_shared<const SphereMeasure>(2, 3.0);
  EXPECT_EQ(asymptotic_exponent(other)->value, 1);
  other.queries = std::make_shared<const ProductMeasure>(2, uniform(1));
  EXPECT_EQ(asymptotic_exponent(other)->value, 1);
  other.queries = std::make_shared<const MixtureMeasure>(
      Vector::Ones(2), std::vector<MeasurePtr>{std::make_shared<SphereMeasure>(2, 1),
                                               std::make_shared<ProductMeasure>(2, truncated_laplace(1, 3))});
  EXPECT_EQ(asymptotic_exponent(other)->value, 1);
  other.queries = standard_gaussian(2);
  EXPECT_FALSE(asymptotic_exponent(other).has_value());
}

// For elliptical Gaussian queries √W z, the queries with the largest W decide.
TEST(AsymptoticExponent, OfEllipticalQueries) {
  const Matrix identity = Matrix::Identity(2, 2);
  AttentionLayer layer{standard_gaussian(2), 0.5 * identity, identity, standard_gaussian(2)};
  const RadialLaw radial = RadialLaw::uniform(0.5, 4);
  layer.queries = std::make_shared<const EllipticalMeasure>(identity, EllipticalBase::gaussian, radial);
  EXPECT_NEAR(asymptotic_exponent(layer)->value, averaged_exponent(1), 1e-12);
  layer.queries = std::make_shared<const EllipticalMeasure>(identity, EllipticalBase::sphere, radial);
  EXPECT_EQ(asymptotic_exponent(layer)->value, 1);
}

// docs/concentration.md: for σ² > 1/2 and k directions of the largest spread, output ~ (ln L)^{k/2} L^-c and
// gradient in U ~ (ln L)^{k/2+2} L^-c. A query mean multiplies both by e^{const √ln L}.
TEST(AsymptoticExponent, IsApproachedThroughLogarithms) {
  constexpr double L = 1e290;
  const double log_L = std::log(L);
  for (const std::ptrdiff_t k : {1, 2, 5}) {
    const Matrix identity = Matrix::Identity(k, k);
    AttentionLayer layer{standard_gaussian(k), identity, identity, standard_gaussian(k)};
    ConcentrationPlan plan;
    plan.lengths = {L};
    const LocalExponents at = concentration_grid(layer, plan)[0].exponents;
    const double c = asymptotic_exponent(layer)->value;
    const auto half = 0.5 * static_cast<double>(k);
    EXPECT_NEAR((c - at.output->value) * log_L, half, 0.03) << k;
    EXPECT_NEAR((c - at.gradient_U->value) * log_L, half + 2, 0.03) << k;
  }
  const Matrix one = Matrix::Identity(1, 1);
  const AttentionLayer layer{standard_gaussian(1), one, one,
                             std::make_shared<GaussianMeasure>(Vector::Constant(1, 2), one)};
  ConcentrationPlan plan;
  plan.lengths = {1e100, 1e290};
  const auto rows = concentration_grid(layer, plan);
  const double c = asymptotic_exponent(layer)->value;
  const auto times_root = [&](const ConcentrationRow& row) {
    return (c - row.exponents.output->value) * std::sqrt(std::log(row.L));
  };
  EXPECT_NEAR(times_root(rows[0]), times_root(rows[1]), 0.03);
  EXPECT_NEAR(times_root(rows[1]), 0.97, 0.02);
}

}  // namespace
}  // namespace largo::test::asymptotic_exponent_test
