#include "largo/exact/gaussian_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "largo/exact/softmax_moments.hpp"
#include "largo/runtime/check.hpp"
#include "support/random_matrices.hpp"

namespace largo::gaussian_error_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr test::RandomMatrices normals(7);

struct Mean {
  double sum = 0;
  double squares = 0;
  double count = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
    count += 1;
  }
  double z_score(double truth) const {
    const double mean = sum / count;
    return (mean - truth) / std::sqrt((squares / count - mean * mean) / count);
  }
};

struct Setting {
  int L, d, rank, rows, query;
};

// Simulates full d-dimensional prompts, with attention by its definition.
class Simulated : public ::testing::TestWithParam<Setting> {};

TEST_P(Simulated, AgreesWithinFourStandardErrors) {
  const auto [L, d, rank, rows, query_size] = GetParam();
  const auto id = static_cast<std::uint64_t>(100 * L + d);
  const Matrix R = 0.7 * normals(d, rank, id);
  const Matrix covariance = R * R.transpose();
  const Matrix U = 0.6 * normals(d, query_size, id + 1);
  const Matrix V = normals(rows, d, id + 2);
  const Vector query = normals(query_size, 1, id + 3);
  const AttentionError exact = gaussian_attention_error(covariance, U, V, query, L);
  const Vector a = U * query;

  Mean output, gradient_V, gradient_U;
  Vector bias = Vector::Zero(rows);
  constexpr int kPrompts = 60000;
  for (int prompt = 0; prompt < kPrompts; ++prompt) {
    const Matrix tokens =
        R *
        normals(rank, L, id + 4, static_cast<std::uint64_t>(prompt) * static_cast<std::uint64_t>(rank * L));
    Vector weights = tokens.transpose() * a;
    weights = (weights.array() - weights.maxCoeff()).exp();
    weights /= weights.sum();
    const Vector mean = tokens * weights;
    const Matrix C = tokens * weights.asDiagonal() * tokens.transpose() - mean * mean.transpose();
    const Vector difference = mean - covariance * a;
    output.add((V * difference).squaredNorm());
    bias += V * difference / kPrompts;
    gradient_V.add(rows * difference.squaredNorm());
    gradient_U.add(query.squaredNorm() * (V * (C - covariance)).squaredNorm());
  }
  // Seeds are fixed. There are 12 z-scores, each beyond 4 with probability 6e-5 for a new seed.
  EXPECT_LE(std::abs(output.z_score(exact.output.value)), 4);
  EXPECT_LE(std::abs(gradient_V.z_score(exact.gradient_V.value)), 4);
  EXPECT_LE(std::abs(gradient_U.z_score(exact.gradient_U.value)), 4);
  EXPECT_LE((bias - exact.bias).norm(), 4 * std::sqrt(exact.output.value / kPrompts));
}

INSTANTIATE_TEST_SUITE_P(Prompts, Simulated,
                         ::testing::Values(Setting{1, 2, 2, 1, 2}, Setting{2, 3, 3, 2, 2},
                                           Setting{7, 4, 2, 3, 4}, Setting{30, 3, 3, 3, 3}));

TEST(GaussianError, OutputIsThePrintedFormula) {
  const Matrix covariance = (Matrix(2, 2) << 2, 0.5, 0.5, 1).finished();
  const Matrix U = (Matrix(2, 2) << 0.3, 0, -0.2, 0.7).finished();
  const Matrix V = (Matrix(1, 2) << 1, -2).finished();
  const Vector z = (Vector(2) << 1.5, -0.5).finished();
  const double L = 1e5;
  const Vector a = U * z;
  const SoftmaxMoments m = softmax_moments(std::sqrt(a.dot(covariance * a)), L);
  const double p = m.P2.value;
  const double F = p - 6 * m.P3.value + 6 * m.P2P2.value;
  const double expected =
      p * (V * covariance * V.transpose()).trace() + (V * covariance * a).squaredNorm() * F;
  const AttentionError error = gaussian_attention_error(covariance, U, V, z, L);
  EXPECT_NEAR(error.output.value, expected, 1e-12 * expected);
  EXPECT_LE(error.output.error, 1e-10 * expected);
}

// The error of a whitened problem is the same for any square root of the covariance.
TEST(GaussianError, RotationInvariant) {
  const Matrix Q = normals(3, 3, 1).householderQr().householderQ();
  const Matrix covariance = Vector((Vector(3) << 2, 1, 0.3).finished()).asDiagonal();
  const Matrix U = normals(3, 3, 2), V = normals(2, 3, 3);
  const Vector z = normals(3, 1, 4);
  const AttentionError plain = gaussian_attention_error(covariance, U, V, z, 50);
  const AttentionError rotated =
      gaussian_attention_error(Q * covariance * Q.transpose(), Q * U, V * Q.transpose(), z, 50);
  EXPECT_NEAR(rotated.output.value, plain.output.value, 1e-11 * plain.output.value);
  EXPECT_NEAR(rotated.gradient_U.value, plain.gradient_U.value, 1e-11 * plain.gradient_U.value);
}

// At s = 0 no direction is special.
TEST(GaussianError, ContinuousAtAZeroQuery) {
  const Matrix covariance = (Matrix(2, 2) << 2, 0.5, 0.5, 1).finished();
  const Matrix identity = Matrix::Identity(2, 2);
  const Vector tiny = Vector::Constant(2, 1e-7);
  const AttentionError near = gaussian_attention_error(covariance, identity, identity, tiny, 9);
  const AttentionError zero = gaussian_attention_error(covariance, Matrix::Zero(2, 2), identity, tiny, 9);
  EXPECT_NEAR(near.output.value, zero.output.value, 1e-12);
  EXPECT_NEAR(near.gradient_U.value / zero.gradient_U.value, 1, 1e-11);
  EXPECT_NEAR(zero.output.value, covariance.trace() / 9, 1e-14);
}

TEST(GaussianError, InfinitePromptsHaveNone) {
  const Matrix identity = Matrix::Identity(2, 2);
  const AttentionError error =
      gaussian_attention_error(identity, identity, identity, Vector::Ones(2), kInfinity);
  EXPECT_EQ(error.output.value, 0);
  EXPECT_EQ(error.gradient_U.value, 0);
  EXPECT_EQ(error.bias.norm(), 0);
}

TEST(GaussianError, RefusesBadInput) {
  const Matrix identity = Matrix::Identity(2, 2);
  const Vector z = Vector::Ones(2);
  EXPECT_THROW(gaussian_attention_error(identity, Matrix::Identity(3, 2), identity, z, 2), InputError);
  EXPECT_THROW(gaussian_attention_error(identity, identity, Matrix::Ones(1, 3), z, 2), InputError);
  EXPECT_THROW(gaussian_attention_error(-identity, identity, identity, z, 2), InputError);
  EXPECT_THROW(gaussian_attention_error(identity, identity, identity, z, 0.5), InputError);
  EXPECT_THROW(gaussian_attention_error(identity, 1e9 * identity, identity, z, 2), InputError);
  EXPECT_THROW(gaussian_attention_error(identity, identity, identity, kInfinity * z, 2), InputError);
  EXPECT_THROW(gaussian_attention_error(identity, identity, 1e160 * identity, z, 2), InputError);
  EXPECT_THROW(gaussian_attention_error(Matrix(0, 0), Matrix(0, 2), Matrix(1, 0), z, 2), InputError);
  EXPECT_THROW(gaussian_attention_error(0 * identity, identity, identity, z, 0.5), InputError);
}

TEST(Asymptotics, BulkAndCondensation) {
  // Bulk: corrections are of the order e^{4s²}/L.
  EXPECT_NEAR(softmax_moments(1, 1e12).P2.value / bulk_P2(1, 1e12), 1, 1e-10);
  EXPECT_DOUBLE_EQ(condensation_line(std::exp(2.0)), 2);
  EXPECT_DOUBLE_EQ(concentration_exponent(0, 100), 1);
  EXPECT_DOUBLE_EQ(concentration_exponent(100, 100), 0);
  EXPECT_EQ(concentration_exponent(0, 1), 0);
  // The two branches of κ meet at 1/√3.
  const double s = condensation_line(1e50) / std::numbers::sqrt3;
  EXPECT_NEAR(concentration_exponent(s * (1 - 1e-9), 1e50), 1.0 / 3, 1e-8);
  EXPECT_NEAR(concentration_exponent(s * (1 + 1e-9), 1e50), 1.0 / 3, 1e-8);
  // -log E[P_2]/log L -> κ, slowly
  for (const double x : {0.3, 0.7, 0.9}) {
    const double L = 1e250;
    const double line = condensation_line(L);
    EXPECT_NEAR(-std::log(softmax_moments(x * line, L).P2.value) / std::log(L),
                concentration_exponent(x * line, L), 0.01)
        << x;
  }
}

TEST(Asymptotics, AveragedExponentIsTheMinimum) {
  for (const double sigma : {0.3, 0.8, 1.0, 1.5, 4.0}) {
    double smallest = 1;
    for (int i = 1; i < 20000; ++i) {
      const double x = i / 20000.0;
      const double kappa = 3 * x * x <= 1 ? 1 - 2 * x * x : 0.25 * std::pow(1 / x - x, 2);
      smallest = std::min(smallest, kappa + x * x / (sigma * sigma));
    }
    EXPECT_NEAR(averaged_exponent(sigma), smallest, 1e-6) << sigma;
  }
  EXPECT_THROW(averaged_exponent(0), InputError);
}

}  // namespace
}  // namespace largo::gaussian_error_test
