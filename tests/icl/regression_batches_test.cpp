#include "largo/icl/regression_batches.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/runtime/check.hpp"
#include "largo/training/stochastic_descent.hpp"

namespace largo::regression_batches_test {
namespace {

constexpr Eigen::Index kD = 2;

RegressionProblem problem() {
  RegressionProblem problem = paper_problem((Matrix(kD, kD) << 1.0, 0.4, 0.4, 0.8).finished());
  problem.prior_covariance = (Matrix(kD, kD) << 0.9, -0.1, -0.1, 0.5).finished();
  problem.query_covariance = (Matrix(kD, kD) << 0.7, 0.2, 0.2, 1.1).finished();
  problem.noise_variance = 0.3;
  return problem;
}

// The risk of linear attention on the invariant set, from the moments of Wishart matrices.
double linear_risk(const RegressionProblem& p, const Matrix& A, double b, double L) {
  const Matrix &S = p.covariance, &O = p.prior_covariance, &Sq = p.query_covariance;
  const Matrix M = (1 + 1 / L) * S * O * S + ((S * O).trace() + p.noise_variance) / L * S;
  return ((b * b * A.transpose() * M * A * Sq).trace() - 2 * b * (O * S * A * Sq).trace() +
          (O * Sq).trace()) /
         2;
}

Matrix some_A() { return (Matrix(kD, kD) << 0.5, 0.1, -0.2, 0.4).finished(); }
constexpr double kSomeB = 0.9;

// Compares the value and every entry of the gradient at (some_A, kSomeB), over 400 batches, with their
// expectations. Of some 40 z-scores in all, the largest is beyond 4.5 with probability 3e-4 for a new seed.
void expect_means(const RegressionBatches& batches, const Vector& theta, const Vector& expected) {
  constexpr int kBatches = 400;
  constexpr double kLargestZ = 4.5;
  const auto risk = in_parameters(regression_batches(problem(), batches), invariant_map(kD));
  Vector sum = Vector::Zero(expected.size()), squares = sum, difference = sum;
  for (int k = 0; k < kBatches; ++k) {
    const RiskPoint point = risk->batch(theta, k);
    difference << point.value, point.gradient;
    difference -= expected;
    sum += difference;
    squares += difference.cwiseAbs2();
  }
  for (Eigen::Index i = 0; i < sum.size(); ++i) {
    EXPECT_LT(std::abs(sum[i]), kLargestZ * std::sqrt(squares[i]))
        << "L = " << batches.length << ", entry " << i;
  }
}

Vector some_parameters() {
  Vector theta(kD * kD + 1);
  theta << some_A().reshaped(), kSomeB;
  return theta;
}

TEST(RegressionBatches, HaveTheLinearRiskAsMean) {
  const Vector theta = some_parameters();
  for (const std::int64_t L : {1, 3, 20, 100000}) {
    const auto length = static_cast<double>(L);
    Vector expected(1 + theta.size());
    expected[0] = linear_risk(problem(), some_A(), kSomeB, length);
    for (Eigen::Index i = 0; i < theta.size(); ++i) {  // quadratic in each: differences are exact
      const auto at = [&](double shift) {
        Vector moved = theta;
        moved[i] += shift;
        return linear_risk(problem(), moved.head(kD * kD).reshaped(kD, kD), moved[kD * kD], length);
      };
      expected[1 + i] = at(0.5) - at(-0.5);
    }
    expect_means({.length = L, .prompts = 64, .attention = AttentionKind::linear}, theta, expected);
  }
}

TEST(RegressionBatches, HaveTheSoftmaxRiskAsMean) {
  const Vector theta = some_parameters();
  for (const std::int64_t L : {2, 30}) {
    const RiskPoint exact =
        invariant_risk(problem(), AttentionKind::softmax, static_cast<double>(L))->at(theta);
    Vector expected(1 + theta.size());
    expected << exact.value, exact.gradient;
    expect_means({.length = L, .prompts = 64}, theta, expected);
  }
}

TEST(RegressionBatches, AreThoseOfTheKernel) {
  const RegressionParameters parameters{Matrix::Identity(kD + 1, kD + 1), Vector::LinSpaced(kD + 1, 0.5, 1)};
  const RegressionBatches batches{.length = 7, .prompts = 10, .seed = 3, .loss_factor = 1};
  const RiskPoint point = regression_batches(problem(), batches)->batch(to_vector(parameters), 5);
  const RegressionGradient kernel = regression_gradient(problem().task(), parameters, {50, 10, 7, 3});
  EXPECT_EQ(point.value, kernel.loss);
  EXPECT_EQ(point.gradient, to_vector({kernel.U, kernel.v}));
  RegressionBatches half = batches;
  half.loss_factor = 0.5;
  const RiskPoint halved = regression_batches(problem(), half)->batch(to_vector(parameters), 5);
  EXPECT_EQ(halved.value, point.value / 2);
  EXPECT_EQ(halved.gradient, point.gradient / 2);
}

// Descent on batches ends at the minimum of the closed form over (A, b), which is found by descent without
// noise. Batches of 64 with steps of 0.02 leave an excess of some 1e-3.
TEST(RegressionBatches, TrainLinearAttention) {
  class Exact final : public StochasticRisk {
   public:
    Eigen::Index size() const override { return kD * kD + 1; }
    RiskPoint batch(const ConstVectorRef& theta, std::int64_t) const override {
      const auto at = [&](Eigen::Index i, double shift) {
        Vector moved = theta;
        moved[i] += shift;
        return linear_risk(problem(), moved.head(kD * kD).reshaped(kD, kD), moved[kD * kD], 50);
      };
      RiskPoint point{at(0, 0), 0, Vector(size())};
      for (Eigen::Index i = 0; i < size(); ++i) point.gradient[i] = at(i, 0.5) - at(i, -0.5);
      return point;
    }
  };
  DescentState start;
  start.parameters = Vector::Zero(kD * kD + 1);
  start.parameters[0] = start.parameters[3] = start.parameters[4] = 0.3;
  DescentOptions options;
  options.step_size = cosine_steps(0.05, 5000);
  options.steps = 5000;
  const auto risk_after = [&](const StochasticRisk& risk) {
    return Exact().batch(descend(risk, start, options).parameters, 0).value;
  };
  const double least = risk_after(Exact());
  const auto batches =
      regression_batches(problem(), {.length = 50, .prompts = 64, .attention = AttentionKind::linear});
  const double trained = risk_after(*in_parameters(batches, invariant_map(kD)));
  EXPECT_LT(least, 0.2 * problem().null_risk());
  EXPECT_GT(trained, least - 1e-6);
  EXPECT_LT(trained, least + 2e-3);
}

TEST(RegressionBatches, RefuseBadInput) {
  const auto refused = [](auto change) {
    RegressionProblem p = problem();
    RegressionBatches batches{.length = 5};
    change(p, batches);
    EXPECT_THROW(regression_batches(p, batches), InputError);
  };
  refused([](RegressionProblem&, RegressionBatches& b) { b.length = 0; });
  refused([](RegressionProblem&, RegressionBatches& b) { b.prompts = 0; });
  refused([](RegressionProblem&, RegressionBatches& b) { b.loss_factor = 0; });
  refused([](RegressionProblem& p, RegressionBatches&) { p.noise_variance = -1; });
  refused([](RegressionProblem& p, RegressionBatches&) { p.covariance(0, 0) = -1; });
  const auto risk = regression_batches(problem(), {.length = 5});
  const Vector theta = Vector::Ones(risk->size());
  EXPECT_THROW(risk->batch(theta, -1), InputError);
  EXPECT_THROW(risk->batch(theta, std::numeric_limits<std::int64_t>::max() / 2), InputError);
  EXPECT_THROW(risk->batch(Vector::Ones(3), 0), InputError);
}

// Steps that are too large are noticed, by the overflow of the batch or by the size of its loss.
TEST(RegressionBatches, DivergenceIsReported) {
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    const auto risk = in_parameters(
        regression_batches(problem(), {.length = 20, .prompts = 16, .attention = kind}), factored_map(kD));
    DescentState start;
    start.parameters = Vector::LinSpaced(risk->size(), -1, 1);
    for (const double factor : {1e6, std::numeric_limits<double>::infinity()}) {
      DescentOptions options;
      options.step_size = constant_steps(30);
      options.divergence_factor = factor;
      EXPECT_THROW(descend(*risk, start, options), Diverged);
    }
  }
}

}  // namespace
}  // namespace largo::regression_batches_test
