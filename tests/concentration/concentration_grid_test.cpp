#include "largo/concentration/concentration_grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "largo/concentration/exact_errors.hpp"
#include "largo/exact/gaussian_error.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "layers.hpp"
#include "support/thread_ranks.hpp"

namespace largo::test::concentration_grid_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

AttentionLayer layer_at(const Queries& queries) {
  return {centred_gaussian(0.8 * random_matrix(3, 3, 1)), random_matrix(3, 3, 2), random_matrix(2, 3, 3),
          queries};
}

TEST(ConcentrationGrid, IsInOrder) {
  ConcentrationPlan plan;
  plan.sigmas = {0.5, 2};
  plan.lengths = {3, 10, kInfinity};
  plan.sampled = true;
  plan.sampling.samples = 100;
  std::vector<double> shares;
  plan.progress = [&](double share) { shares.push_back(share); };
  const auto rows = concentration_grid(layer_at(Vector(random_vector(3, 4))), plan);
  ASSERT_EQ(rows.size(), 12U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].sigma, plan.sigmas[i / 6]);
    EXPECT_EQ(rows[i].L, plan.lengths[i / 2 % 3]);
    EXPECT_EQ(rows[i].method, i % 2 == 0 ? ErrorMethod::exact : ErrorMethod::sampled);
    if (!std::isinf(rows[i].L)) continue;
    EXPECT_EQ(rows[i].output.value, 0);
    EXPECT_EQ(rows[i].gradient_U->value, 0);
    EXPECT_FALSE(rows[i].exponents.output.has_value());
  }
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_NEAR(shares.back(), 1, 1e-12);
  EXPECT_GE(shares.size(), 5U + 5U + 1U + 4U);  // lengths and their neighbours, and blocks of prompts
}

// At one query the errors follow the formula of gaussian_error.hpp.
TEST(ConcentrationGrid, AtAQuery) {
  const Vector z = random_vector(3, 4);
  const AttentionLayer layer = layer_at(z);
  ConcentrationPlan plan;
  plan.lengths = {1, 2, 77, 1e9};
  for (const ConcentrationRow& row : concentration_grid(layer, plan)) {
    const AttentionError e = gaussian_attention_error(layer.tokens->covariance(), layer.U, layer.V, z, row.L);
    EXPECT_NEAR(row.output.value, e.output.value, 1e-12 * e.output.value);
    EXPECT_NEAR(row.gradient_V.value, e.gradient_V.value, 1e-12 * e.gradient_V.value);
    EXPECT_NEAR(row.gradient_U->value, e.gradient_U.value, 1e-12 * e.gradient_U.value);
  }
}

// Scaling the tokens is the same as scaling their law, for each kind of law and queries.
TEST(ConcentrationGrid, ScaleIsThatOfTheLaw) {
  constexpr double kScale = 1.6;
  const Matrix root = 0.8 * random_matrix(3, 3, 1);
  const std::pair<MeasurePtr, MeasurePtr> laws[] = {
      {centred_gaussian(root), centred_gaussian(kScale * root)},
      {std::make_shared<SphereMeasure>(3, 1.1), std::make_shared<SphereMeasure>(3, kScale * 1.1)},
      {std::make_shared<ProductMeasure>(3, rademacher(0.5)),
       std::make_shared<ProductMeasure>(3, rademacher(kScale * 0.5))}};
  for (const auto& [law, scaled] : laws) {
    for (const Queries& queries : {Queries(Vector(random_vector(3, 4))), Queries(standard_gaussian(3))}) {
      AttentionLayer one = layer_at(queries), other = one;
      one.tokens = law;
      other.tokens = scaled;
      if (missing_formula(one)) continue;
      for (const double L : {1.0, 9.0, 1e6}) {
        const LayerErrors a = ExactErrors(one)(L, kScale), b = ExactErrors(other)(L);
        EXPECT_NEAR(a.output.value, b.output.value, 1e-10 * b.output.value);
        EXPECT_NEAR(a.gradient_V.value, b.gradient_V.value, 1e-10 * b.gradient_V.value);
        EXPECT_EQ(a.gradient_U.has_value(), b.gradient_U.has_value());
        if (b.gradient_U) {
          EXPECT_NEAR(a.gradient_U->value, b.gradient_U->value, 1e-10 * b.gradient_U->value);
        }
        if (b.softmax_linear) {
          EXPECT_NEAR(a.softmax_linear->value, b.softmax_linear->value, 1e-10 * b.softmax_linear->value);
        }
      }
    }
  }
}

// With flat scores the weights are 1/L, and the error is exactly tr(VΓVᵀ)/L.
TEST(LocalExponent, IsOneForFlatScores) {
  AttentionLayer layer = layer_at(Vector(random_vector(3, 4)));
  layer.U.setZero();
  ConcentrationPlan plan;
  plan.lengths = {1, 1.05, 2, 1e3, 1e100, 1e300};
  for (const ConcentrationRow& row : concentration_grid(layer, plan)) {
    EXPECT_NEAR(row.exponents.output->value, 1, 1e-6) << row.L;  // fourth order, one-sided at the ends
    EXPECT_LE(std::abs(row.exponents.output->value - 1), row.exponents.output->error + 1e-9) << row.L;
  }
}

// The reference is Richardson's extrapolation of wider differences of the errors themselves.
TEST(LocalExponent, AgainstWiderDifferences) {
  const Vector z = random_vector(3, 4);
  AttentionLayer layer = layer_at(z);
  for (const double sharpness : {0.5, 2.0, 6.0}) {
    layer.U = sharpness * random_matrix(3, 3, 2);
    ConcentrationPlan plan;
    plan.lengths = {2, 40, 1e5, 1e12};
    for (const ConcentrationRow& row : concentration_grid(layer, plan)) {
      const auto logarithm = [&](double x) {
        return std::log(
            gaussian_attention_error(layer.tokens->covariance(), layer.U, layer.V, z, row.L * std::exp(x))
                .gradient_U.value);
      };
      const auto difference = [&](double h) { return (logarithm(h) - logarithm(-h)) / (2 * h); };
      const double a = difference(0.16), b = difference(0.08), c = difference(0.04);
      const double ab = (4 * b - a) / 3, bc = (4 * c - b) / 3;
      const double expected = -(16 * bc - ab) / 15;
      EXPECT_NEAR(row.exponents.gradient_U->value, expected, 1e-6) << sharpness << ", L = " << row.L;
      EXPECT_LE(std::abs(row.exponents.gradient_U->value - expected), row.exponents.gradient_U->error + 1e-8);
    }
  }
}

TEST(ConcentrationGrid, SameBitsForThreadsAndRanks) {
  const AttentionLayer layer = layer_at(standard_gaussian(3));
  ConcentrationPlan plan;
  plan.sigmas = {0.7, 1.4};
  plan.lengths = {2, 30, 500};
  plan.sampled = true;
  plan.sampling.samples = 200;
  const auto expect_same = [](const std::vector<ConcentrationRow>& a,
                              const std::vector<ConcentrationRow>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].output.value, b[i].output.value);
      EXPECT_EQ(a[i].output.error, b[i].output.error);
      EXPECT_EQ(a[i].gradient_U->value, b[i].gradient_U->value);
      EXPECT_EQ(a[i].exponents.output.has_value(), b[i].exponents.output.has_value());
      if (!a[i].exponents.output) continue;
      EXPECT_EQ(a[i].exponents.output->value, b[i].exponents.output->value);
    }
  };
  const auto one = concentration_grid(layer, plan, {.threads = 1});
  for (const int threads : {2, 5}) expect_same(one, concentration_grid(layer, plan, {.threads = threads}));
  for (const int ranks : {2, 3}) {
    const auto thrown = test::run_on(ranks, [&](const Ranks& self) {
      expect_same(one, concentration_grid(layer, plan, {.threads = 2, .ranks = &self}));
    });
    for (const auto& exception : thrown) EXPECT_FALSE(exception);
  }
}

TEST(ConcentrationGrid, RefusesBadInput) {
  const AttentionLayer layer = layer_at(Vector(random_vector(3, 4)));
  const auto run = [&](auto change) {
    AttentionLayer changed = layer;
    ConcentrationPlan plan;
    plan.lengths = {10};
    change(changed, plan);
    return concentration_grid(changed, plan);
  };
  EXPECT_NO_THROW(run([](AttentionLayer&, ConcentrationPlan&) {}));
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.lengths = {}; }), InputError);
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.lengths = {0.5}; }), InputError);
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.lengths = {std::nan("")}; }), InputError);
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.sigmas = {0}; }), InputError);
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.sigmas = {1e-200}; }), InputError);
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.sigmas = {1e200}; }), InputError);
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.exact = false; }), InputError);
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.sampled = true, p.lengths = {2.5}; }),
               InputError);
  EXPECT_THROW(run([](AttentionLayer&, ConcentrationPlan& p) { p.sampled = true, p.lengths = {1e13}; }),
               InputError);
  EXPECT_THROW(run([](AttentionLayer& l, ConcentrationPlan&) { l.U = Matrix::Zero(2, 3); }), InputError);
  EXPECT_THROW(run([](AttentionLayer& l, ConcentrationPlan&) { l.V(0, 0) = std::nan(""); }), InputError);
  EXPECT_THROW(run([](AttentionLayer& l, ConcentrationPlan&) { l.queries = MeasurePtr(); }), InputError);
  EXPECT_THROW(run([](AttentionLayer& l, ConcentrationPlan&) { l.tokens = nullptr; }), InputError);
  // Several continuous coordinates have no score law, so that nothing is exact.
  EXPECT_THROW(run([](AttentionLayer& l, ConcentrationPlan&) {
                 l.tokens = std::make_shared<ProductMeasure>(3, uniform(1));
               }),
               InputError);
}

}  // namespace
}  // namespace largo::test::concentration_grid_test
