#include "estimation/query_proposal.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "largo/measures/gaussian.hpp"
#include "largo/measures/sphere.hpp"
#include "support/sampled_laws.hpp"
#include "support/sampled_mean.hpp"

namespace largo::query_proposal_test {
namespace {

using test::normals;
using test::SampledMean;

// Seeds are fixed. With new ones, one of some 40 comparisons is beyond 4 standard errors in 0.3 % of cases.
constexpr double kLargestZScore = 4;
constexpr std::uint64_t kDraws = 40000;

TEST(QueryProposal, WeighsQueriesBackToTheirLaw) {
  const Matrix root = 0.6 * normals(3, 3, 80);
  for (const double shift : {0.0, 0.7}) {
    const GaussianMeasure queries(shift * Vector::Ones(3), root * root.transpose());
    const Matrix U = normals(2, 3, 81);
    const estimation::QueryProposal proposal(queries, GaussianMeasure::standard(2), U, 1000);
    ASSERT_TRUE(proposal.weighted());
    const Matrix second = queries.covariance() + queries.mean() * queries.mean().transpose();
    SampledMean one, of_mean[3], of_second[3][3];
    double largest = 0;
    for (std::uint64_t i = 0; i < kDraws; ++i) {
      const estimation::WeightedQuery drawn = proposal.draw(Stream(5, i));
      largest = std::max(largest, drawn.weight);
      one.add(drawn.weight);
      for (int j = 0; j < 3; ++j) {
        of_mean[j].add(drawn.weight * drawn.query[j]);
        for (int k = 0; k <= j; ++k) of_second[j][k].add(drawn.weight * drawn.query[j] * drawn.query[k]);
      }
    }
    EXPECT_LE(largest, 2);
    EXPECT_LE(one.z_score(1), kLargestZScore);
    for (int j = 0; j < 3; ++j) {
      EXPECT_LE(of_mean[j].z_score(queries.mean()[j]), kLargestZScore) << j;
      for (int k = 0; k <= j; ++k) EXPECT_LE(of_second[j][k].z_score(second(j, k)), kLargestZScore) << j << k;
    }
  }
}

// E e^{s²} for s² = 0.4 g² is 1/√0.2, from queries five deviations out: a plain mean has infinite variance.
TEST(QueryProposal, SeesTheQueriesThatCarryTheError) {
  const GaussianMeasure queries(Vector::Zero(1), Matrix::Constant(1, 1, 0.4));
  const Matrix U = Matrix::Ones(1, 1);
  const estimation::QueryProposal proposal(queries, GaussianMeasure::standard(1), U, 1e12);
  SampledMean mean;
  int far = 0;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    const estimation::WeightedQuery drawn = proposal.draw(Stream(6, i));
    mean.add(drawn.weight * std::exp(drawn.query[0] * drawn.query[0]));
    if (std::abs(drawn.query[0]) > 5 * std::sqrt(0.4)) ++far;
  }
  EXPECT_LE(mean.z_score(1 / std::sqrt(0.2)), kLargestZScore);
  EXPECT_GE(far, 1000);  // the law itself would draw 0.02
}

TEST(QueryProposal, LeavesOtherLawsAndEqualScoresAlone) {
  const Matrix I = Matrix::Identity(3, 3);
  const GaussianMeasure tokens = GaussianMeasure::standard(3);
  const SphereMeasure sphere(3, 2);
  EXPECT_FALSE(estimation::QueryProposal(sphere, tokens, I, 100).weighted());
  const estimation::QueryProposal equal(tokens, tokens, 0 * I, 100);
  EXPECT_FALSE(equal.weighted());
  RowMatrix drawn(1, 3);
  tokens.sample(Stream(7, 1), 0, drawn);
  EXPECT_EQ(equal.draw(Stream(7, 1)).query, Vector(drawn.row(0).transpose()));
}

}  // namespace
}  // namespace largo::query_proposal_test
