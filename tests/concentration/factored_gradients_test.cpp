// Errors of the gradients in K and Q against derivatives by differences, averaged over simulated prompts.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/concentration/factored_gradients.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "support/random_matrices.hpp"

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
  double sums[2] = {}, squares[2] = {};
  for (std::int64_t i = 0; i < kPrompts; ++i) {
    law->sample(Stream(59, 1), static_cast<std::uint64_t>(i * L), tokens);
    const auto here = jacobians(prompt_mean, weights, query);
    for (std::size_t k = 0; k < 2; ++k) {
      const double error = (here[k] - limit[k]).squaredNorm();
      sums[k] += error;
      squares[k] += error * error;
    }
  }
  const std::optional<Estimate> known[] = {exact.gradient_K, exact.gradient_Q};
  for (std::size_t k = 0; k < 2; ++k) {
    ASSERT_TRUE(known[k]);
    const double mean = sums[k] / kPrompts;
    const double deviation = std::sqrt((squares[k] / kPrompts - mean * mean) / kPrompts);
    EXPECT_LE(std::abs(known[k]->value - mean), kMaxZ * deviation + 1e-8 * mean) << (k == 0 ? "K" : "Q");
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

}  // namespace
}  // namespace largo::factored_gradients_test
