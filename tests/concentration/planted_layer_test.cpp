// Layers with planted tokens: exact errors against sampled ones, and what does not know planted tokens.
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "largo/concentration/assumptions.hpp"
#include "largo/concentration/asymptotic_exponent.hpp"
#include "largo/concentration/certified_bound.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/concentration/length_within.hpp"
#include "largo/concentration/linear_attention.hpp"
#include "largo/estimation/attention_errors.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "layers.hpp"

namespace largo::test::planted_layer_test {
namespace {

constexpr double kLargestZScore = 4;  // two-sided false-alarm rate 6.3e-5 for each of 48 comparisons

// Sinks, needles, softmax plus one, and several copies, beside crowds of every kind.
AttentionLayer planted_layer(std::uint64_t id) {
  constexpr std::ptrdiff_t kDimension = 3;
  const MeasurePtr crowds[] = {
      standard_gaussian(kDimension), centred_gaussian(random_matrix(kDimension, kDimension, 700 + id)),
      std::make_shared<SphereMeasure>(kDimension, 1.5),
      std::make_shared<EmpiricalMeasure>(RowMatrix(random_matrix(20, kDimension, 701)))};
  AttentionLayer layer{crowds[id % 4], random_matrix(kDimension, kDimension, 702 + id),
                       random_matrix(2, kDimension, 720 + id), random_vector(kDimension, 740 + id)};
  layer.planted = {{Vector::Zero(kDimension), 0.0}, {2 * random_vector(kDimension, 760 + id)}};
  if (id % 2 == 1) layer.planted.push_back({random_vector(kDimension, 780 + id), 3.0, 2.5});
  return layer;
}

TEST(PlantedLayer, ExactErrorsAgreeWithSampledOnes) {
  for (std::uint64_t id = 0; id < 8; ++id) {
    const AttentionLayer layer = planted_layer(id);
    ASSERT_FALSE(missing_formula(layer));
    ConcentrationPlan plan;
    plan.sigmas = {id % 3 == 0 ? 1.4 : 1.0};
    plan.lengths = {1, 12, 200};
    plan.sampled = true;
    plan.exponents = false;
    plan.sampling.samples = 20000;
    plan.seed = 11 + id;
    const auto rows = concentration_grid(layer, plan);
    ASSERT_EQ(rows.size(), 6U);
    for (std::size_t i = 0; i < rows.size(); i += 2) {
      const auto compare = [&](const ErrorBar& exact, const ErrorBar& sampled, const char* what) {
        EXPECT_LE(std::abs(sampled.value - exact.value), kLargestZScore * sampled.error + 2e-6 * exact.value)
            << what << " of layer " << id << " at L = " << rows[i].L << ": " << exact.value << ", sampled "
            << sampled.value << " ± " << sampled.error;
      };
      compare(rows[i].output, rows[i + 1].output, "output");
      compare(rows[i].gradient_V, rows[i + 1].gradient_V, "gradient in V");
      EXPECT_FALSE(rows[i].gradient_U);
      EXPECT_TRUE(rows[i + 1].gradient_U);
    }
  }
}

// A crowd that is one point: every prompt is the same, so that its errors are sums over three tokens.
TEST(PlantedLayer, SampledGradientsInUOfAKnownPrompt) {
  const RowMatrix point{{0.4, -0.2}};
  AttentionLayer layer{std::make_shared<EmpiricalMeasure>(point), Matrix{{1, 0.5}, {-0.3, 2}},
                       Matrix{{1, 2}, {0, 1}, {3, -1}}, Vector(Vector{{0.7, -1}})};
  layer.planted = {{Vector{{1, 2}}}, {Vector{{-1, 0.5}}, 0.3, 4}};
  constexpr double kLength = 5;
  const Vector z{{0.7, -1}};
  RowMatrix tokens(3, 2);
  tokens << point, 1, 2, -1, 0.5;
  const Vector a = layer.U * z;
  Vector weights = (tokens * a).array().exp();
  weights[0] *= kLength;
  weights[2] = 4 * std::exp(0.3);
  weights /= weights.sum();
  const Vector mean = tokens.transpose() * weights;
  const Matrix centred = tokens.rowwise() - mean.transpose();
  const Matrix covariance = centred.transpose() * weights.asDiagonal() * centred;

  ConcentrationPlan plan;
  plan.lengths = {kLength};
  plan.exact = false;
  plan.sampled = true;
  plan.sampling.samples = 4;
  plan.precision = TokenPrecision::float64;
  const ConcentrationRow row = concentration_grid(layer, plan).front();
  const Vector shift = mean - point.row(0).transpose();
  const double output = (layer.V * shift).squaredNorm();
  const double gradient_U = z.squaredNorm() * (layer.V * covariance).squaredNorm();
  EXPECT_NEAR(row.output.value, output, 1e-12 * output);
  EXPECT_NEAR(row.gradient_V.value, 3 * shift.squaredNorm(), 1e-12 * row.gradient_V.value);
  EXPECT_NEAR(row.gradient_U->value, gradient_U, 1e-12 * gradient_U);
  EXPECT_NEAR(ExactErrors(layer)(kLength).output.value, output, 1e-13 * output);
}

// A crowd of two points and prompts of two: three prompts, so that means over prompts are sums.
TEST(PlantedLayer, SampledGradientsInUOfAFewPrompts) {
  const RowMatrix points{{0.4, -0.2}, {-1, 0.8}};
  const EmpiricalMeasure law(points);
  const Matrix U{{1, 0.5}, {-0.3, 2}}, V{{1, 2}, {0, 1}, {3, -1}};
  const Vector z{{0.7, -1}}, a = U * z;
  ErrorSampling sampling;
  sampling.length = 2;
  sampling.plan.samples = 40000;
  sampling.gradient_U = true;
  sampling.precision = TokenPrecision::float64;
  sampling.planted = {{Vector{{1, 2}}}, {Vector{{-1, 0.5}}, 0.3, 4}};
  RowMatrix tokens(4, 2);
  tokens << points, 1, 2, -1, 0.5;
  const Matrix limit = law.tilt(a, TiltOrder::covariance).covariance;
  double gradient_U = 0, P2 = 0;
  for (int first = 0; first <= 2; ++first) {  // how many tokens are the first point
    const Vector counts{{static_cast<double>(first), 2.0 - first, 1, 4}};
    Vector each = (tokens * a).array().exp();
    each[3] = std::exp(0.3);
    each /= counts.dot(each);
    const Vector weights = counts.cwiseProduct(each);
    const Vector mean = tokens.transpose() * weights;
    const Matrix centred = tokens.rowwise() - mean.transpose();
    const Matrix covariance = centred.transpose() * weights.asDiagonal() * centred;
    const double probability = first == 1 ? 0.5 : 0.25;
    gradient_U += probability * z.squaredNorm() * (V * (covariance - limit)).squaredNorm();
    P2 += probability * weights.dot(each);
  }
  const SampledErrors found = sample_attention_errors(law, U, V, z, sampling);
  EXPECT_LE(std::abs(found.gradient_U.value - gradient_U), kLargestZScore * found.gradient_U.standard_error);
  EXPECT_LE(std::abs(found.p2.value - P2), kLargestZScore * found.p2.standard_error);
  EXPECT_LE(found.gradient_U.standard_error, 0.01 * gradient_U);
}

TEST(PlantedLayer, ATokenFarBelowChangesNothing) {
  AttentionLayer layer = planted_layer(2);
  layer.planted.clear();
  const double alone = ExactErrors(layer)(50).output.value;
  layer.planted = {{random_vector(3, 790), -700.0}};
  EXPECT_NEAR(ExactErrors(layer)(50).output.value, alone, 1e-13 * alone);
}

TEST(PlantedLayer, WhatDoesNotKnowThemSaysSo) {
  const AttentionLayer layer = planted_layer(0);
  EXPECT_TRUE(missing_bound(layer));
  EXPECT_THROW(CertifiedBounds{layer}, InputError);
  EXPECT_THROW(assumptions(layer), InputError);
  EXPECT_THROW(linear_attention_error(layer, 10), InputError);
  EXPECT_THROW(check_within(layer, 0.1), InputError);
  EXPECT_EQ(asymptotic_exponent(layer)->value, 1);
  AttentionLayer constant = layer;  // the crowd does not vary: the error is a squared bias, of order 1/L²
  constant.tokens = std::make_shared<EmpiricalMeasure>(RowMatrix(random_matrix(1, 3, 795)));
  EXPECT_FALSE(asymptotic_exponent(constant));
  AttentionLayer averaged = layer;
  averaged.queries = standard_gaussian(3);
  EXPECT_TRUE(missing_formula(averaged));
  EXPECT_FALSE(asymptotic_exponent(averaged));
  ErrorSampling sampling;
  sampling.planted = layer.planted;
  sampling.kernel = PromptKernel::collapsed;
  EXPECT_THROW(
      sample_attention_errors(*layer.tokens, layer.U, layer.V, std::get<Vector>(layer.queries), sampling),
      InputError);
}

// A sink without a value is close to a limit close to zero; the crowd that takes over brings its noise. So no
// length is enough for all longer ones because it is itself.
TEST(PlantedLayer, ErrorsMayGrowWithL) {
  AttentionLayer layer = planted_layer(0);
  layer.queries = Vector(1e-3 * Vector::Unit(3, 0));
  layer.planted = {{Vector::Zero(3), 8.0}};
  const ExactErrors errors(layer);
  EXPECT_GT(errors(1000).output.value, 10 * errors(1).output.value);
}

TEST(PlantedLayer, BadTokens) {
  AttentionLayer layer = planted_layer(0);
  const PlantedToken good = layer.planted[0];
  for (const PlantedToken& bad :
       {PlantedToken{Vector::Zero(2)}, PlantedToken{Vector{{0, 0, std::nan("")}}},
        PlantedToken{good.token, std::nan("")}, PlantedToken{good.token, 0.0, 0.5}}) {
    layer.planted = {bad};
    EXPECT_THROW(ExactErrors{layer}, InputError);
  }
}

}  // namespace
}  // namespace largo::test::planted_layer_test
