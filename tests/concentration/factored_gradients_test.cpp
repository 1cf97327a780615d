// Errors of the gradients in K and Q against derivatives by differences, averaged over simulated prompts.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/concentration/factored_gradients.hpp"
#include "largo/concentration/length_within.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "support/random_matrices.hpp"
#include "support/sampled_mean.hpp"

namespace largo::factored_gradients_test {
namespace {

constexpr test::RandomMatrices normals(53);
constexpr double kMaxZ = 4;  // two-sided false-alarm rate 6.3e-5 for each of 16 comparisons
constexpr std::int64_t kPrompts = 20000;

using Output = std::function<Vector(const Vector& a)>;

// The Jacobians of V m(KᵀQz) in K and in Q, by differences.
std::vector<Matrix> jacobians(const Output& mean, const FactoredWeights& weights, const Vector& query) {
  constexpr double kStep = 1e-5;
  FactoredWeights moved = weights;
  std::vector<Matrix> result;
  for (Matrix FactoredWeights::*which : {&FactoredWeights::K, &FactoredWeights::Q}) {
    Matrix& entries = moved.*which;
    Matrix jacobian(weights.V.rows(), entries.size());
    for (std::ptrdiff_t i = 0; i < entries.size(); ++i) {
      double& entry = entries.reshaped()[i];
      const double before = entry;
      entry = before + kStep;
      const Vector above = mean(moved.K.transpose() * (moved.Q * query));
      entry = before - kStep;
      const Vector below = mean(moved.K.transpose() * (moved.Q * query));
      entry = before;
      jacobian.col(i) = weights.V * (above - below) / (2 * kStep);
    }
    result.push_back(jacobian);
  }
  return result;
}

void expect_simulated(const MeasurePtr& law, const FactoredWeights& weights, const Vector& query,
                      std::int64_t L) {
  const auto limit =
      jacobians([&](const Vector& a) { return law->tilt(a, TiltOrder::mean).mean; }, weights, query);
  const FactoredErrors exact = FactoredGradients(law, weights, query)(static_cast<double>(L));
  RowMatrix tokens(L, law->dimension());
  const auto prompt_mean = [&](const Vector& a) {
    const Vector scores = tokens * a;
    const Vector w = (scores.array() - scores.maxCoeff()).exp();
    return Vector(tokens.transpose() * w / w.sum());
  };
  test::SampledMean simulated[2];
  for (std::int64_t i = 0; i < kPrompts; ++i) {
    law->sample(Stream(59, 1), static_cast<std::uint64_t>(i * L), tokens);
    const auto here = jacobians(prompt_mean, weights, query);
    for (std::size_t k = 0; k < 2; ++k) simulated[k].add((here[k] - limit[k]).squaredNorm());
  }
  const std::optional<Estimate> known[] = {exact.gradient_K, exact.gradient_Q};
  for (std::size_t k = 0; k < 2; ++k) {
    ASSERT_TRUE(known[k]);
    const double mean = simulated[k].value();
    EXPECT_LE(std::abs(known[k]->value - mean), kMaxZ * simulated[k].error() + 1e-8 * mean)
        << (k == 0 ? "K" : "Q");
    EXPECT_LE(known[k]->error, 1e-8 * mean);
  }
}

TEST(FactoredGradients, AreThoseOfSimulatedPrompts) {
  const Matrix root = normals(3, 3, 1);
  const std::vector<MeasurePtr> laws = {
      std::make_shared<GaussianMeasure>(normals(3, 1, 2), 0.3 * root * root.transpose()),
      std::make_shared<SphereMeasure>(3, 1.5), std::make_shared<ProductMeasure>(3, rademacher()),
      std::make_shared<EmpiricalMeasure>(RowMatrix(normals(6, 3, 3)))};
  std::uint64_t id = 10;
  for (const MeasurePtr& law : laws) {
    // Fewer keys than dimensions, so that KᵀK is singular, and more.
    for (const std::ptrdiff_t keys : {2, 4}) {
      SCOPED_TRACE(::testing::Message() << "law " << (id - 10) / 4 << ", " << keys << " keys");
      const FactoredWeights weights(0.6 * normals(keys, 3, id), 0.6 * normals(keys, 2, id + 1),
                                    normals(2, 3, id + 2));
      expect_simulated(law, weights, normals(2, 1, id + 3), 6);
      id += 4;
    }
  }
}

// With K = I the gradient in Q is that in U, with Q = I that in K.
TEST(FactoredGradients, AreThoseInUForIdentities) {
  const auto law = std::make_shared<GaussianMeasure>(GaussianMeasure::standard(3));
  const Matrix identity = Matrix::Identity(3, 3), U = normals(3, 3, 101), V = normals(2, 3, 102);
  const Queries queries = std::static_pointer_cast<const Measure>(law);
  const Estimate plain = *ExactErrors({law, U, V, queries})(100, 0.7).gradient_U;
  const FactoredErrors in_Q = FactoredGradients(law, FactoredWeights(identity, U, V), queries)(100, 0.7);
  const FactoredErrors in_K =
      FactoredGradients(law, FactoredWeights(U.transpose(), identity, V), queries)(100, 0.7);
  EXPECT_NEAR(in_Q.gradient_Q->value, plain.value, 1e-9 * plain.value);
  EXPECT_NEAR(in_K.gradient_K->value, plain.value, 1e-9 * plain.value);
}

TEST(FactoredGradients, OfKeysThatAreZero) {
  const auto law = std::make_shared<SphereMeasure>(2, 1);
  const FactoredWeights weights(Matrix::Zero(1, 2), Matrix::Ones(1, 2), Matrix::Identity(2, 2));
  const FactoredErrors errors = FactoredGradients(law, weights, Vector(Vector::Ones(2)))(10);
  EXPECT_EQ(errors.gradient_Q->value, 0);
  EXPECT_GT(errors.gradient_K->value, 0);
}

// Qz is not on a sphere where z is.
TEST(FactoredGradients, MissWhatHasNoFormula) {
  const auto law = std::make_shared<GaussianMeasure>(GaussianMeasure::standard(2));
  const Queries queries = MeasurePtr(std::make_shared<SphereMeasure>(2, 1));
  const FactoredWeights weights(normals(2, 2, 110), normals(2, 2, 111), Matrix::Identity(2, 2));
  const FactoredErrors errors = FactoredGradients(law, weights, queries)(10);
  EXPECT_FALSE(errors.gradient_K);
  EXPECT_TRUE(errors.gradient_Q);
  const FactoredWeights scaled(normals(2, 2, 110), normals(2, 2, 111), Matrix::Identity(2, 2), 0.5);
  EXPECT_THROW(FactoredGradients(law, scaled, queries), InputError);
}

// Bounds are above exact errors, at queries and for Gaussian queries, and not far above for long prompts.
TEST(FactoredBounds, AreAboveTheErrors) {
  const auto gaussian = [](std::ptrdiff_t d) {
    return std::make_shared<GaussianMeasure>(GaussianMeasure::standard(d));
  };
  const std::vector<MeasurePtr> laws = {gaussian(3), std::make_shared<SphereMeasure>(3, 1.5),
                                        std::make_shared<ProductMeasure>(3, rademacher()),
                                        std::make_shared<EmpiricalMeasure>(RowMatrix(normals(6, 3, 3)))};
  std::uint64_t id = 200;
  for (const MeasurePtr& law : laws) {
    for (const std::ptrdiff_t keys : {1, 2, 4}) {
      for (const bool is_one : {true, false}) {
        if (!is_one && (law != laws.front() || keys != 2)) continue;
        const FactoredWeights weights(0.4 * normals(keys, 3, id), 0.4 * normals(keys, 2, id + 1),
                                      normals(2, 3, id + 2));
        const Queries queries = is_one ? Queries(Vector(normals(2, 1, id + 3))) : Queries(gaussian(2));
        id += 4;
        const MergedWeights merged = weights.merged();
        const CertifiedBounds plain({law, merged.U, merged.V, queries});
        const FactoredGradients exact(law, weights, queries);
        const FactoredBounds bounds(law, weights, queries);
        for (const double L : {2.0, 30.0, 1e4, 1e8}) {
          SCOPED_TRACE(::testing::Message() << id << " keys " << keys << " L " << L);
          const FactoredErrors errors = exact(L);
          const double in_U = plain(L).gradient_U;
          const FactoredBounds::Values found = bounds(L, in_U);
          EXPECT_GE(found.gradient_K, errors.gradient_K->value - errors.gradient_K->error);
          EXPECT_GE(found.gradient_Q, errors.gradient_Q->value - errors.gradient_Q->error);
          EXPECT_LE(found.gradient_K, (1 + 1e-9) * weights.Q.squaredNorm() * in_U);
          EXPECT_LE(found.gradient_Q, (1 + 1e-9) * weights.K.squaredNorm() * in_U);
          if (!is_one || L < 1e8) continue;
          EXPECT_LE(found.gradient_K, 10 * errors.gradient_K->value);
          EXPECT_LE(found.gradient_Q, 1000 * errors.gradient_Q->value);  // crude where KᵀK is singular
        }
      }
    }
  }
}

// At the length found the error is within the share of the limit, and with a token less it is not; limits are
// those of differences.
TEST(LengthsWithin, AreTheShortest) {
  constexpr double kShare = 0.05;
  const auto law = std::make_shared<ProductMeasure>(3, rademacher());
  const FactoredWeights weights(0.6 * normals(2, 3, 300), 0.6 * normals(2, 2, 301), normals(2, 3, 302));
  const Vector query = normals(2, 1, 303);
  const MergedWeights merged = weights.merged();
  const AttentionLayer layer{law, merged.U, merged.V, query};
  const auto limit =
      jacobians([&](const Vector& a) { return law->tilt(a, TiltOrder::mean).mean; }, weights, query);
  const Vector mean = law->tilt(merged.U * query, TiltOrder::mean).mean;
  const auto found = lengths_within(layer, weights, kShare);
  ASSERT_EQ(found.size(), 5U);
  EXPECT_NEAR(found[0].limit_square, (merged.V * mean).squaredNorm(), 1e-12);
  EXPECT_NEAR(found[1].limit_square, 2 * mean.squaredNorm(), 1e-12);
  EXPECT_NEAR(found[3].limit_square / limit[0].squaredNorm(), 1, 1e-7);
  EXPECT_NEAR(found[4].limit_square / limit[1].squaredNorm(), 1, 1e-7);
  const ExactErrors exact(layer);
  const FactoredGradients factored(law, weights, query);
  const auto errors_at = [&](double L) {
    const LayerErrors e = exact(L);
    const FactoredErrors f = factored(L);
    return std::vector<double>{e.output.value, e.gradient_V.value, e.gradient_U->value, f.gradient_K->value,
                               f.gradient_Q->value};
  };
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_TRUE(found[k].L) << found[k].name;
    const double most = kShare * kShare * found[k].limit_square;
    EXPECT_LE(errors_at(*found[k].L)[k], most) << found[k].name;
    EXPECT_GT(errors_at(*found[k].L - 1)[k], most) << found[k].name;
  }
}

// Over Gaussian queries the squared limit is a mean over them; a limit of zero has no length.
TEST(LengthsWithin, AveragesOverQueries) {
  const Matrix root = normals(3, 3, 310);
  const auto law = std::make_shared<GaussianMeasure>(normals(3, 1, 311), 0.2 * root * root.transpose());
  const auto queries = std::make_shared<GaussianMeasure>(normals(3, 1, 312), Matrix::Identity(3, 3));
  const Matrix U = 0.3 * normals(3, 3, 313), V = normals(2, 3, 314);
  const auto found = lengths_within({law, U, V, MeasurePtr(queries)}, std::nullopt, 0.1, 0.7);
  constexpr int kDraws = 200000;
  RowMatrix z(kDraws, 3);
  queries->sample(Stream(5, 1), 0, z);
  double sums[2] = {}, squares[2] = {};
  const Matrix Gamma = 0.49 * law->covariance();
  for (int i = 0; i < kDraws; ++i) {
    const Vector x = 0.7 * law->mean() + Gamma * (U * z.row(i).transpose());
    const double values[] = {(V * x).squaredNorm(), z.row(i).squaredNorm() * (V * Gamma).squaredNorm()};
    for (int k = 0; k < 2; ++k) sums[k] += values[k] / kDraws, squares[k] += values[k] * values[k] / kDraws;
  }
  for (const int k : {0, 1}) {
    const double error = std::sqrt((squares[k] - sums[k] * sums[k]) / kDraws);
    EXPECT_LE(std::abs(found[k == 0 ? 0 : 2].limit_square - sums[k]), kMaxZ * error);
  }
  const auto centred = std::make_shared<GaussianMeasure>(GaussianMeasure::standard(2));
  const Matrix I = Matrix::Identity(2, 2);
  EXPECT_EQ(lengths_within({centred, I, I, Vector(Vector::Zero(2))}, std::nullopt, 0.1)[0].missing,
            "the limit is zero");
  EXPECT_THROW(lengths_within({centred, I, I, Vector(Vector::Ones(2))}, std::nullopt, 0), InputError);
}

}  // namespace
}  // namespace largo::factored_gradients_test
