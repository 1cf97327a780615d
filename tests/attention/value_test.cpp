// Attention against its formulas, written as plainly as possible.
#include <cmath>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "laws.hpp"

namespace largo::test::value_test {
namespace {

// Both sides evaluate the formulas in double, in a different order.
constexpr double kRounding = 1e-13;
// Relative to the largest output; a mixture over W is integrated to 1e-12.
constexpr double kLawTolerance = 1e-12;

using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

RowMatrix naive_attention(AttentionKind kind, const RowMatrix& tokens, const Vector& weights, const Matrix& U,
                          const Matrix& V, double scale, const RowMatrix& queries) {
  RowMatrix outputs(queries.rows(), V.rows());
  for (std::ptrdiff_t q = 0; q < queries.rows(); ++q) {
    LongVector sum = LongVector::Zero(tokens.cols());
    long double partition = 0;
    long double mass = 0;
    const LongVector a = scale * (U.cast<long double>() * queries.row(q).transpose().cast<long double>());
    for (std::ptrdiff_t l = 0; l < tokens.rows(); ++l) {
      const LongVector token = tokens.row(l).transpose().cast<long double>();
      const long double score = token.dot(a);
      sum += weights[l] * (kind == AttentionKind::softmax ? std::exp(score) : score) * token;
      partition += weights[l] * std::exp(score);
      mass += weights[l];
    }
    const LongMatrix wide_v = V.cast<long double>();
    const LongVector output = wide_v * sum / (kind == AttentionKind::softmax ? partition : mass);
    outputs.row(q) = output.cast<double>().transpose();
  }
  return outputs;
}

double relative_distance(const RowMatrix& value, const RowMatrix& expected) {
  return (value - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
}

TEST(AttentionValue, PromptsOfEveryShape) {
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    for (unsigned seed = 1; const std::ptrdiff_t length : {1, 2, 7, 256, 257, 9000}) {
      for (const std::ptrdiff_t d : {1, 3, 8}) {
        for (const std::ptrdiff_t count : {1, 5, 9, 66}) {
          const std::ptrdiff_t e = 1 + (d + count) % 5;
          const std::ptrdiff_t outputs = 1 + count % 4;
          const RowMatrix tokens = random_matrix(length, d, ++seed).array() + 0.25;
          const Vector weights = random_matrix(length, 1, ++seed).cwiseAbs();
          const MergedWeights merged{2 * random_matrix(d, e, ++seed), random_matrix(outputs, d, ++seed), 0.5};
          const RowMatrix queries = random_matrix(count, e, ++seed);
          const auto expected = [&](const Vector& p) {
            return naive_attention(kind, tokens, p, merged.U, merged.V, merged.score_scale, queries);
          };
          const auto name = ::testing::Message() << "L " << length << " d " << d << " n " << count;
          EXPECT_LE(relative_distance(attend(kind, EmpiricalMeasure(tokens), merged, queries),
                                      expected(Vector::Ones(length))),
                    kRounding)
              << name;
          EXPECT_LE(relative_distance(attend(kind, EmpiricalMeasure(tokens, weights), merged, queries),
                                      expected(weights)),
                    kRounding)
              << name;
        }
      }
    }
  }
}

TEST(AttentionValue, EveryLawMatchesAHundredDigits) {
  double worst = 0;
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    for (unsigned seed = 1; const KnownLaw& known : test::known_laws(11)) {
      const MergedWeights weights{2 * random_matrix(3, 4, ++seed), random_matrix(2, 3, ++seed), 1.5};
      const RowMatrix queries = random_matrix(3, 4, ++seed);
      const RowMatrix outputs = attend(kind, *known.law, weights, queries);
      for (std::ptrdiff_t q = 0; q < queries.rows(); ++q) {
        const WideVector exact =
            test::wide_attention(kind, known.log_partition, flat(weights.U), flat(weights.V),
                                 weights.score_scale, wide(queries.row(q).transpose()));
        const double error = test::relative_error(outputs.row(q).transpose(), {exact});
        EXPECT_LE(error, kLawTolerance) << known.name << (kind == AttentionKind::linear ? ", linear" : "");
        worst = std::max(worst, error);
      }
    }
  }
  std::printf("  max error of attention on a law %.1e\n", worst);
}

TEST(AttentionValue, AGaussianGivesAnAffineMap) {
  for (unsigned seed = 1; seed < 40; ++seed) {
    const std::ptrdiff_t d = 1 + seed % 9;
    const std::ptrdiff_t e = 1 + seed % 4;
    const Vector mean = random_matrix(d, 1, seed);
    const Matrix covariance = random_covariance(d, seed + 100);
    const MergedWeights weights{random_matrix(d, e, seed + 200), random_matrix(1 + seed % 3, d, seed + 300),
                                0.5};
    const RowMatrix queries = 10 * random_matrix(6, e, seed + 400);
    const GaussianMeasure law(mean, covariance);
    const Matrix& V = weights.V;
    const RowMatrix slope = 0.5 * queries * (V * covariance * weights.U).transpose();
    const RowMatrix softmax = slope.rowwise() + (V * mean).transpose();
    const Vector scores = 0.5 * (queries * weights.U.transpose() * mean);
    const RowMatrix linear = slope + scores * (V * mean).transpose();
    EXPECT_LE(relative_distance(attend(AttentionKind::softmax, law, weights, queries), softmax), kRounding);
    EXPECT_LE(relative_distance(attend(AttentionKind::linear, law, weights, queries), linear), kRounding);
  }
}

TEST(AttentionValue, RademacherTokensGiveTanh) {
  for (const std::ptrdiff_t d : {1, 2, 7}) {
    const MergedWeights weights{3 * random_matrix(d, 2, 1), random_matrix(4, d, 2), 2.0};
    const RowMatrix queries = random_matrix(5, 2, 3);
    const RowMatrix scores = 2 * queries * weights.U.transpose();
    const RowMatrix tanh_of = scores.array().tanh().matrix() * weights.V.transpose();
    const RowMatrix linear = scores * weights.V.transpose();
    const ProductMeasure law(d, rademacher());
    EXPECT_LE(relative_distance(attend(AttentionKind::softmax, law, weights, queries), tanh_of), kRounding);
    EXPECT_LE(relative_distance(attend(AttentionKind::linear, law, weights, queries), linear), kRounding);
  }
}

TEST(AttentionValue, FactoredWeightsAreTheirProduct) {
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    for (const KnownLaw& known : test::known_laws(12)) {
      for (const std::ptrdiff_t rank : {1, 2, 6}) {
        const FactoredWeights weights{random_matrix(rank, 3, 1), random_matrix(rank, 5, 2),
                                      random_matrix(2, 3, 3), 1 / std::sqrt(static_cast<double>(rank))};
        const RowMatrix queries = random_matrix(4, 5, 4);
        const MergedWeights merged{weights.K.transpose() * weights.Q, weights.V, weights.score_scale};
        EXPECT_EQ(attend(kind, *known.law, weights, queries), attend(kind, *known.law, merged, queries));
      }
    }
  }
}

TEST(AttentionValue, OneTokenIsReturnedWhateverTheScore) {
  const RowMatrix token = (RowMatrix(1, 2) << 3, -0.1).finished();
  for (const double size : {0.0, 1.0, 1e5, 1e300}) {
    const MergedWeights weights{size * Matrix::Identity(2, 2), Matrix::Identity(2, 2)};
    const RowMatrix output = attend(AttentionKind::softmax, EmpiricalMeasure(token), weights, token);
    EXPECT_DOUBLE_EQ(output(0, 0), token(0, 0)) << size;
    EXPECT_DOUBLE_EQ(output(0, 1), token(0, 1)) << size;
  }
}

TEST(AttentionValue, ALongPromptApproachesTheLaw) {
  // Five standard errors of the mean, each at most √(weight variance) times the spread: false alarms have
  // probability 6e-7.
  constexpr std::ptrdiff_t kLength = 200000;
  const GaussianMeasure law(random_matrix(3, 1, 1), random_covariance(3, 2));
  const EmpiricalMeasure prompt(sample_prompt(law, Stream{7, 0}, kLength));
  const MergedWeights weights{0.5 * Matrix::Identity(3, 3), Matrix::Identity(3, 3)};
  const RowMatrix queries = random_matrix(1, 3, 5);
  const Vector a = 0.5 * queries.row(0).transpose();
  const double inflation = std::exp(a.dot(law.covariance() * a));  // E w² / (E w)²
  const RowMatrix gap = attend(AttentionKind::softmax, prompt, weights, queries) -
                        attend(AttentionKind::softmax, law, weights, queries);
  for (std::ptrdiff_t j = 0; j < 3; ++j) {
    const double spread = law.covariance()(j, j) + std::pow((law.covariance() * a)[j], 2);
    EXPECT_LE(std::abs(gap(0, j)), 5 * std::sqrt(inflation * spread / kLength));
  }
}

}  // namespace
}  // namespace largo::test::value_test
