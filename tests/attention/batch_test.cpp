// The result of a query does not depend on the other queries of the call, to the last bit.
#include <gtest/gtest.h>

#include "laws.hpp"

namespace largo::batch_test {
namespace {

using test::random_covariance;
using test::random_matrix;

// Sizes are odd and even, below and above the widths of the kernel: the last bits of a matrix product may
// depend on where a column lies and on how many columns there are.
std::vector<MeasurePtr> laws_on(std::ptrdiff_t d) {
  const RowMatrix tokens = random_matrix(700, d, 1);
  const auto gaussian = std::make_shared<GaussianMeasure>(random_matrix(d, 1, 2), random_covariance(d, 3));
  const auto sphere = std::make_shared<SphereMeasure>(d, 2.0);
  return {gaussian,
          sphere,
          std::make_shared<ProductMeasure>(d, uniform(1.5)),
          std::make_shared<EllipticalMeasure>(random_covariance(d, 4), EllipticalBase::gaussian,
                                              RadialLaw::uniform(0.5, 1)),
          std::make_shared<MixtureMeasure>(Vector::Ones(2), std::vector<MeasurePtr>{gaussian, sphere}),
          std::make_shared<AffineMeasure>(random_matrix(d, d, 5), random_matrix(d, 1, 6), sphere),
          std::make_shared<EmpiricalMeasure>(tokens),
          std::make_shared<EmpiricalMeasure>(tokens, Vector(random_matrix(700, 1, 7).cwiseAbs())),
          std::make_shared<EmpiricalMeasure>(tokens, std::nullopt, Arithmetic::float32)};
}

void expect_alone_as_in_batch(AttentionKind kind, std::ptrdiff_t d) {
  const MergedWeights weights{random_matrix(d, d + 1, 10), random_matrix(3, d, 11), 0.75};
  const RowMatrix queries = random_matrix(70, d + 1, 12);
  for (std::size_t k = 0; const MeasurePtr& law : laws_on(d)) {
    const RowMatrix together = attend(kind, *law, weights, queries);
    const auto jacobians = attention_jacobian(kind, *law, weights, queries.topRows(9));
    for (const std::ptrdiff_t q : {0, 1, 2, 8, 63, 64, 69}) {
      EXPECT_EQ(attend(kind, *law, weights, queries.row(q)), together.row(q))
          << "law " << k << ", d " << d << ", query " << q;
    }
    for (const std::ptrdiff_t q : {0, 3, 8}) {
      const MergedJacobian alone = attention_jacobian(kind, *law, weights, queries.row(q)).front();
      EXPECT_EQ(alone.U, jacobians[static_cast<std::size_t>(q)].U) << "law " << k << ", d " << d;
      EXPECT_EQ(alone.V, jacobians[static_cast<std::size_t>(q)].V) << "law " << k << ", d " << d;
    }
    const RowMatrix pair = attend(kind, *law, weights, queries.middleRows(30, 2));
    EXPECT_EQ(pair, together.middleRows(30, 2)) << "law " << k << ", d " << d;
    ++k;
  }
}

TEST(AttentionBatch, SoftmaxOfAQueryIsTheSameAlone) {
  for (const std::ptrdiff_t d : {1, 2, 3, 5, 8, 17}) expect_alone_as_in_batch(AttentionKind::softmax, d);
}

TEST(AttentionBatch, LinearAttentionOfAQueryIsTheSameAlone) {
  for (const std::ptrdiff_t d : {1, 2, 3, 5, 8, 17, 75}) expect_alone_as_in_batch(AttentionKind::linear, d);
}

}  // namespace
}  // namespace largo::batch_test
