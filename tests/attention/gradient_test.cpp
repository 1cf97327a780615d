#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "laws.hpp"

namespace largo::test::gradient_test {
namespace {

// The promise, relative to the largest entry: tilts are accurate to a few 1e-15 of the spread, and the
// quadrature over W to 1e-12.
constexpr double kGradientTolerance = 1e-10;
// The two routes to a gradient share the tilt and differ in the order of a few sums.
constexpr double kRouteTolerance = 1e-12;
// One token has no covariance: the square of an ulp of its mean is left.
constexpr double kNoCovariance = 1e-29;

constexpr std::ptrdiff_t kTokenSize = 3;
constexpr std::ptrdiff_t kQuerySize = 4;
constexpr std::ptrdiff_t kOutputSize = 2;
constexpr std::ptrdiff_t kRank = 2;
constexpr AttentionKind kKinds[] = {AttentionKind::softmax, AttentionKind::linear};

FactoredWeights random_factored(unsigned seed) {
  return {random_matrix(kRank, kTokenSize, seed), random_matrix(kRank, kQuerySize, seed + 1),
          random_matrix(kOutputSize, kTokenSize, seed + 2), 0.75};
}

MergedWeights random_merged(unsigned seed) {
  return {random_matrix(kTokenSize, kQuerySize, seed), random_matrix(kOutputSize, kTokenSize, seed + 1),
          1.25};
}

std::string title(AttentionKind kind, const KnownLaw& known) {
  return (kind == AttentionKind::softmax ? "softmax, " : "linear, ") + known.name;
}

bool has_no_covariance(AttentionKind kind, const KnownLaw& known) {
  return kind == AttentionKind::softmax && known.name == "prompt of 1";
}

TEST(AttentionGradient, MergedJacobianMatchesAHundredDigits) {
  double worst = 0;
  for (const AttentionKind kind : kKinds) {
    for (unsigned seed = 1; const KnownLaw& known : test::known_laws(5)) {
      const MergedWeights weights = random_merged(++seed);
      const RowMatrix queries = random_matrix(2, kQuerySize, seed + 100);
      const auto jacobians = attention_jacobian(kind, *known.law, weights, queries);
      for (std::ptrdiff_t q = 0; q < 2; ++q) {
        const WideVector z = wide(queries.row(q).transpose());
        const WideVector U = flat(weights.U);
        const WideVector V = flat(weights.V);
        const auto& jacobian = jacobians[static_cast<std::size_t>(q)];
        const auto of_u = [&](const WideVector& x) {
          return wide_attention(kind, known.log_partition, x, V, weights.score_scale, z);
        };
        const auto of_v = [&](const WideVector& x) {
          return wide_attention(kind, known.log_partition, U, x, weights.score_scale, z);
        };
        ASSERT_EQ(jacobian.V.cols(), static_cast<std::ptrdiff_t>(V.size()));
        if (has_no_covariance(kind, known)) {
          EXPECT_LE(jacobian.U.cwiseAbs().maxCoeff(), kNoCovariance);
        } else {
          const double error = relative_error(jacobian.U, differences(of_u, U));
          EXPECT_LE(error, kGradientTolerance) << title(kind, known);
          worst = std::max(worst, error);
        }
        const double error = relative_error(jacobian.V, differences(of_v, V));
        EXPECT_LE(error, kGradientTolerance) << title(kind, known);
        worst = std::max(worst, error);
      }
    }
  }
  std::printf("  max error of the Jacobian in (U,V) %.1e\n", worst);
}

TEST(AttentionGradient, FactoredJacobianMatchesAHundredDigits) {
  double worst = 0;
  for (const AttentionKind kind : kKinds) {
    for (unsigned seed = 1; const KnownLaw& known : test::known_laws(6)) {
      if (has_no_covariance(kind, known)) continue;
      const FactoredWeights weights = random_factored(++seed);
      const RowMatrix queries = random_matrix(1, kQuerySize, seed + 100);
      const WideVector z = wide(queries.row(0).transpose());
      const FactoredJacobian jacobian = attention_jacobian(kind, *known.law, weights, queries).front();
      const WideVector K = flat(weights.K);
      const WideVector Q = flat(weights.Q);
      const WideVector V = flat(weights.V);
      const auto output = [&](const WideVector& k, const WideVector& q, const WideVector& v) {
        return wide_attention(kind, known.log_partition, test::wide_product(k, q, kRank), v,
                              weights.score_scale, z);
      };
      const double errors[] = {
          relative_error(jacobian.K, differences([&](const WideVector& x) { return output(x, Q, V); }, K)),
          relative_error(jacobian.Q, differences([&](const WideVector& x) { return output(K, x, V); }, Q)),
          relative_error(jacobian.V, differences([&](const WideVector& x) { return output(K, Q, x); }, V))};
      for (const double error : errors) {
        EXPECT_LE(error, kGradientTolerance) << title(kind, known);
        worst = std::max(worst, error);
      }
    }
  }
  std::printf("  max error of the Jacobian in (K,Q,V) %.1e\n", worst);
}

// The gradient of <cotangent, T>, in the parameter's shape, from a Jacobian with one row per output.
Matrix contract(const Matrix& jacobian, const Vector& cotangent, std::ptrdiff_t rows,
                std::ptrdiff_t columns) {
  const Vector entries = jacobian.transpose() * cotangent;
  return Eigen::Map<const RowMatrix>(entries.data(), rows, columns);
}

double distance(const Matrix& value, const Matrix& expected) {
  return (value - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
}

TEST(AttentionGradient, VectorJacobianProductIsTheJacobianContracted) {
  for (const AttentionKind kind : kKinds) {
    for (const std::ptrdiff_t count : {1, 2, 7}) {  // fewer and more queries than token coordinates
      for (unsigned seed = 1; const KnownLaw& known : test::known_laws(7)) {
        const RowMatrix queries = random_matrix(count, kQuerySize, ++seed);
        const RowMatrix cotangents = random_matrix(count, kOutputSize, seed + 50);
        const FactoredWeights weights = random_factored(seed + 90);
        const auto jacobians = attention_jacobian(kind, *known.law, weights, queries);
        const auto merged = attention_jacobian(kind, *known.law, weights.merged(), queries);
        FactoredGradient expected{Matrix::Zero(kRank, kTokenSize), Matrix::Zero(kRank, kQuerySize),
                                  Matrix::Zero(kOutputSize, kTokenSize)};
        Matrix expected_u = Matrix::Zero(kTokenSize, kQuerySize);
        for (std::ptrdiff_t q = 0; q < count; ++q) {
          const auto& jacobian = jacobians[static_cast<std::size_t>(q)];
          const Vector cotangent = cotangents.row(q).transpose();
          expected.K += contract(jacobian.K, cotangent, kRank, kTokenSize);
          expected.Q += contract(jacobian.Q, cotangent, kRank, kQuerySize);
          expected.V += contract(jacobian.V, cotangent, kOutputSize, kTokenSize);
          expected_u += contract(merged[static_cast<std::size_t>(q)].U, cotangent, kTokenSize, kQuerySize);
        }
        const FactoredGradient value = attention_vjp(kind, *known.law, weights, queries, cotangents);
        const MergedGradient in_u = attention_vjp(kind, *known.law, weights.merged(), queries, cotangents);
        EXPECT_LE(distance(value.V, expected.V), kRouteTolerance) << title(kind, known);
        EXPECT_LE(distance(in_u.V, expected.V), kRouteTolerance) << title(kind, known);
        if (has_no_covariance(kind, known)) {
          EXPECT_LE(value.K.cwiseAbs().maxCoeff(), kNoCovariance);
          EXPECT_LE(value.Q.cwiseAbs().maxCoeff(), kNoCovariance);
          EXPECT_LE(in_u.U.cwiseAbs().maxCoeff(), kNoCovariance);
          continue;
        }
        EXPECT_LE(distance(value.K, expected.K), kRouteTolerance) << title(kind, known);
        EXPECT_LE(distance(value.Q, expected.Q), kRouteTolerance) << title(kind, known);
        EXPECT_LE(distance(in_u.U, expected_u), kRouteTolerance) << title(kind, known);
      }
    }
  }
}

}  // namespace
}  // namespace largo::test::gradient_test
