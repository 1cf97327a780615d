// Linear attention at finite length against its definition on sampled prompts.
#include "largo/concentration/linear_attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "largo/concentration/exact_errors.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "layers.hpp"
#include "support/sampled_mean.hpp"

namespace largo::test::linear_attention_test {
namespace {

// Seeds are fixed, and there are 29 comparisons.
constexpr double kLargestZScore = 4;
constexpr int kPrompts = 20000;

struct Simulated {
  SampledMean linear, difference;
};

// Each prompt has a fresh query where the layer has a law of queries.
Simulated simulate(const AttentionLayer& layer, int L) {
  Simulated result;
  const auto* fixed = std::get_if<Vector>(&layer.queries);
  for (int i = 0; i < kPrompts; ++i) {
    const auto id = static_cast<std::uint64_t>(i);
    RowMatrix query = fixed != nullptr ? RowMatrix(fixed->transpose()) : RowMatrix(1, layer.U.cols());
    if (fixed == nullptr) std::get<MeasurePtr>(layer.queries)->sample(Stream(7, id), 0, query);
    const RowMatrix tokens = sample_prompt(*layer.tokens, Stream(3, id), L);
    const Vector z = query.row(0).transpose(), a = layer.U * z;
    const Vector scores = tokens * a;
    const Vector weights = (scores.array() - scores.maxCoeff()).exp();
    const Vector softmax = layer.V * (tokens.transpose() * weights) / weights.sum();
    const Vector linear = layer.V * (tokens.transpose() * scores) / L;
    const Vector limit =
        layer.V *
        ((layer.tokens->covariance() + layer.tokens->mean() * layer.tokens->mean().transpose()) * a);
    result.linear.add((linear - limit).squaredNorm());
    result.difference.add((softmax - linear).squaredNorm());
  }
  return result;
}

TEST(LinearAttention, ErrorsAgainstTheDefinition) {
  const Matrix root = 0.9 * random_matrix(3, 3, 1);
  const MeasurePtr centred = centred_gaussian(root);
  const MeasurePtr shifted = std::make_shared<GaussianMeasure>(random_vector(3, 2), root * root.transpose());
  const Matrix U = random_matrix(3, 2, 3), V = random_matrix(2, 3, 4);
  const MeasurePtr queries =
      std::make_shared<GaussianMeasure>(random_vector(2, 5), 0.5 * Matrix::Identity(2, 2));
  const MeasurePtr rows = std::make_shared<EmpiricalMeasure>(RowMatrix(random_matrix(3, 2, 6)));
  const Queries all[] = {Vector(random_vector(2, 7)), queries, rows,
                         std::make_shared<const SphereMeasure>(2, 1.0)};
  for (const int L : {1, 2, 12}) {
    for (std::size_t q = 0; q < std::size(all); ++q) {
      for (const MeasurePtr& tokens : {centred, shifted}) {
        const AttentionLayer layer{tokens, U, V, all[q]};
        const Simulated simulated = simulate(layer, L);
        EXPECT_NEAR(linear_attention_error(layer, L), simulated.linear.value(),
                    kLargestZScore * simulated.linear.error())
            << "queries " << q << ", L = " << L;
        if (tokens == shifted || q == 3) continue;
        EXPECT_NEAR(ExactErrors(layer)(L).softmax_linear->value, simulated.difference.value(),
                    kLargestZScore * simulated.difference.error())
            << "queries " << q << ", L = " << L;
      }
    }
  }
}

// Values along ΓUz and a mean of the same direction: every term of the formula is larger than the noise.
TEST(LinearAttention, DistanceFromSoftmaxForTokensWithAMean) {
  const Matrix root = (Matrix(2, 2) << 0.9, 0, 0.3, 0.5).finished();
  const Matrix U = (Matrix(2, 2) << 0.6, -0.2, 0.3, 0.5).finished();
  const Vector query = (Vector(2) << 1, 0.4).finished();
  const Matrix covariance = root * root.transpose();
  const Vector along = covariance * (U * query);
  for (const double mean : {-1.5, 0.4, 2.0}) {
    const AttentionLayer layer{std::make_shared<GaussianMeasure>(Vector(mean * along), covariance), U,
                               along.transpose(), query};
    for (const int L : {1, 2, 12}) {
      const Simulated simulated = simulate(layer, L);
      EXPECT_NEAR(softmax_linear_distance(layer, L), simulated.difference.value(),
                  kLargestZScore * simulated.difference.error())
          << "mean " << mean << ", L = " << L;
    }
    const double limit = softmax_linear_distance(layer, std::numeric_limits<double>::infinity());
    const double alpha = layer.tokens->mean().dot(U * query);
    EXPECT_NEAR(limit, std::pow((1 - alpha) * mean * along.squaredNorm(), 2), 1e-14);
    EXPECT_NEAR(softmax_linear_distance(layer, 1e14) / limit, 1, 1e-12);
  }
  EXPECT_THROW(softmax_linear_distance({standard_gaussian(2), U, U, standard_gaussian(2)}, 10), InputError);
  EXPECT_THROW(softmax_linear_distance({standard_gaussian(2), U, U, query}, 0.5), InputError);
}

TEST(LinearAttention, ScaledTokens) {
  const AttentionLayer layer{centred_gaussian(random_matrix(3, 3, 1)), random_matrix(3, 3, 2),
                             random_matrix(2, 3, 3), standard_gaussian(3)};
  AttentionLayer scaled = layer;
  scaled.tokens = centred_gaussian(1.7 * random_matrix(3, 3, 1));
  EXPECT_NEAR(linear_attention_error(layer, 9, 1.7), linear_attention_error(scaled, 9), 1e-12);
  EXPECT_EQ(linear_attention_error(layer, std::numeric_limits<double>::infinity()), 0);
}

TEST(ToleratedLength, IsTheShortest) {
  for (const Queries& queries : {Queries(Vector(random_vector(4, 9))), Queries(standard_gaussian(4))}) {
    const AttentionLayer layer{standard_gaussian(4), 0.5 * random_matrix(4, 4, 8), random_matrix(2, 4, 7),
                               queries};
    const ExactErrors errors(layer);
    for (const double tolerance : {3.0, 0.1, 2e-3, 3e-5}) {
      const auto found = length_for_tolerance(layer, tolerance);
      ASSERT_TRUE(found.has_value());
      EXPECT_LE(found->value, tolerance);
      EXPECT_EQ(found->value, errors(found->L).softmax_linear->value);
      if (found->L == 1) continue;
      EXPECT_GT(errors(found->L - 1).softmax_linear->value, tolerance) << tolerance;
    }
    const auto far = length_for_tolerance(layer, 1e-14);
    ASSERT_TRUE(far.has_value());
    EXPECT_NEAR(far->value, 1e-14, 1e-21);
  }
}

// The search relies on this: the difference falls with L, for sharp attention too.
TEST(ToleratedLength, DifferenceFallsWithLength) {
  for (const double scale : {0.2, 1.0, 3.0, 8.0}) {
    const AttentionLayer layer{standard_gaussian(3), scale * random_matrix(3, 3, 2), random_matrix(2, 3, 3),
                               Vector(random_vector(3, 4))};
    const ExactErrors errors(layer);
    double before = std::numeric_limits<double>::infinity();
    for (double L = 1; L < 1e15; L *= 1.3) {
      const double value = errors(L).softmax_linear->value;
      EXPECT_LT(value, before) << "scale " << scale << ", L = " << L;
      before = value;
    }
  }
}

TEST(ToleratedLength, ForManyScales) {
  const AttentionLayer layer{standard_gaussian(3), random_matrix(3, 3, 2), random_matrix(2, 3, 3),
                             Vector(random_vector(3, 4))};
  const std::vector<double> scales = {0.5, 1, 2};
  const auto many = lengths_for_tolerance(layer, 1e-3, scales, {.threads = 2});
  for (std::size_t i = 0; i < scales.size(); ++i) {
    EXPECT_EQ(many[i]->L, length_for_tolerance(layer, 1e-3, scales[i])->L);
  }
  EXPECT_FALSE(lengths_for_tolerance(layer, 1e-305, scales)[0].has_value());
}

TEST(ToleratedLength, SaysWhereThereIsNone) {
  const Vector z = Vector::Constant(1, 1);
  const Matrix one = Matrix::Identity(1, 1);
  EXPECT_FALSE(length_for_tolerance({standard_gaussian(1), one, one, z}, 1e-305).has_value());
  const MeasurePtr shifted = std::make_shared<GaussianMeasure>(z, one);
  EXPECT_THROW(length_for_tolerance({shifted, one, one, z}, 0.1), InputError);
  EXPECT_THROW(length_for_tolerance({standard_gaussian(1), one, one, z}, 0), InputError);
  EXPECT_THROW(linear_attention_error({std::make_shared<SphereMeasure>(1, 1), one, one, z}, 5), InputError);
}

}  // namespace
}  // namespace largo::test::linear_attention_test
