// The sampled risk against closed forms: the limit and the finite length of Gaussian regression, the limits
// of other covariates, and classification.
//
// Statistical comparisons allow z up to 4 (two-sided false-alarm rate 6.3e-5 each), with fixed seeds. Those
// with a conditional expectation compare draw by draw, with the task and the query in common.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "icl/prompt_tasks.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/measures/mixture.hpp"

namespace largo::prompt_theory_test {
namespace {

using test::kInfinity;
using test::random_matrix;

constexpr double kMaxZ = 4;
constexpr double kTable = 1e-10;       // relative error of SoftmaxTable
constexpr double kClosedForm = 1e-12;  // relative; sums of some thousand terms

// U = [[A, 0], [0, 0]], v = (0, b).
Vector on_invariant_set(const Matrix& A, double b) {
  Vector packed(A.size() + 1);
  packed << A.reshaped(), b;
  return invariant_map(A.rows())->map(packed);
}

PromptSetting setting_of(const PromptTaskPtr& task, const LossPtr& loss, double length) {
  return {task, loss, length, AttentionKind::softmax, 1, 17};
}

TEST(PromptTheory, LimitOfGaussianRegression) {
  const test::GaussianRegression regression;
  const Matrix A = Matrix::Identity(3, 3) + 0.3 * random_matrix(30, 3, 3);
  const double b = 0.6;
  const PromptRisk risk(setting_of(regression.task(), squared_loss(), kInfinity), 20000);
  const RiskPoint point = risk.at(on_invariant_set(A, b));
  const Matrix error = b * regression.covariance * A - Matrix::Identity(3, 3);
  const Matrix prior = regression.prior_root * regression.prior_root.transpose();
  const double exact = (error * regression.query_covariance * error.transpose() * prior).trace() / 2;
  EXPECT_LE(point.error, 0.03 * exact);
  EXPECT_LE(std::abs(point.value - exact), kMaxZ * point.error);
}

// Given the task and the query, the mean loss is that of finite prompts in docs/icl.md, for any U and v.
TEST(PromptTheory, FiniteLengthOfGaussianRegression) {
  constexpr std::int64_t kDraws = 3000;
  const test::GaussianRegression regression;
  const Vector parameters = 0.5 * random_matrix(31, 20, 1);
  const RegressionParameters head = to_parameters(parameters, 3);
  const MergedWeights weights{head.U, head.v.transpose()};
  for (const double L : {1.0, 4.0, 60.0}) {
    SCOPED_TRACE(::testing::Message() << "L = " << L);
    const PromptSetting finite = setting_of(regression.task(), squared_loss(), L);
    const PromptSetting limit = setting_of(regression.task(), squared_loss(), kInfinity);
    Eigen::ArrayXd losses(kDraws), expected(kDraws);
    for (std::int64_t i = 0; i < kDraws; ++i) {
      const PromptDraw prompt = draw_prompt(finite, i);
      const double output =
          attend(AttentionKind::softmax, *prompt.tokens, weights, prompt.query.transpose())(0, 0);
      losses[i] = std::pow(output - prompt.target[0], 2) / 2;

      const Matrix Gamma = draw_prompt(limit, i).tokens->covariance();
      const Vector u = head.U * prompt.query;
      const double s = std::sqrt(u.dot(Gamma * u)), c = head.v.dot(Gamma * u);
      const double kappa = head.v.dot(Gamma * head.v), y = prompt.target[0];
      const SoftmaxMoments moments = softmax_moments(s, L);
      const double p = moments.P2.value, F = 1 - p - 6 * moments.P3.value + 6 * moments.P2P2.value;
      expected[i] = (c * c * F + kappa * p - 2 * c * (1 - p) * y + y * y) / 2;
    }
    const Eigen::ArrayXd difference = losses - expected;
    const double error =
        std::sqrt((difference - difference.mean()).square().mean() / static_cast<double>(kDraws));
    EXPECT_LE(error, 0.05 * expected.mean());
    EXPECT_LE(std::abs(difference.mean()), kMaxZ * error);
    PromptSetting sampled = finite;
    sampled.sampling = PromptSampling::always;
    const PromptRisk drawn(sampled, kDraws), exact(finite, kDraws);
    EXPECT_EQ(drawn.average(), PromptAverage::sampled);
    EXPECT_EQ(exact.average(), PromptAverage::exact);
    EXPECT_NEAR(drawn.at(parameters).value, losses.mean(), kClosedForm * losses.mean());
    EXPECT_NEAR(exact.at(parameters).value, expected.mean(), kTable * expected.mean());
  }
}

// Given w the tokens are (x, <w, x> + ε). Their covariance is checked with w = Σ⁻¹ times its corner.
TEST(PromptTheory, TokensOfRegression) {
  const test::GaussianRegression regression;
  for (std::int64_t i = 0; i < 10; ++i) {
    const PromptDraw draw = draw_prompt(setting_of(regression.task(), squared_loss(), kInfinity), i);
    const Matrix Gamma = draw.tokens->covariance();
    EXPECT_LE((Gamma.topLeftCorner(3, 3) - regression.covariance).norm(), 1e-13);
    const Vector w = regression.covariance.inverse() * Gamma.topRightCorner(3, 1);
    EXPECT_NEAR(Gamma(3, 3), w.dot(regression.covariance * w) + regression.noise_variance, kClosedForm);
    EXPECT_NEAR(draw.target[0], w.dot(draw.query.head(3)), kClosedForm);
    EXPECT_EQ(draw.query[3], 0);
  }
}

// coth x - 1/x, the mean of the density ∝ e^{x t} on [-1, 1]
double langevin(double x) { return 1 / std::tanh(x) - 1 / x; }

// With A = a I and v = (0, b), o is b tanh(a) <w, x_q> for Rademacher covariates, b L(3a) <w, x_q> on the
// sphere of radius √3 in R³, and b √3 L(√3 a x) w on [-√3, √3], where L is langevin.
TEST(PromptTheory, LimitsOfOtherCovariates) {
  constexpr std::int64_t kDraws = 100;
  const double a = 0.8, b = 1.1, root = std::numbers::sqrt3;
  const auto check = [&](const MeasurePtr& law, const auto& shrinkage) {
    const Eigen::Index d = law->dimension();
    const PromptTaskPtr task = std::make_shared<LawRegression>(RegressionLaws{law});
    const PromptSetting setting = setting_of(task, squared_loss(), kInfinity);
    double expected = 0;
    for (std::int64_t i = 0; i < kDraws; ++i) {
      const PromptDraw draw = draw_prompt(setting, i);
      expected += std::pow((b * shrinkage(draw.query[0]) - 1) * draw.target[0], 2) / 2 / kDraws;
    }
    const double value =
        PromptRisk(setting, kDraws).at(on_invariant_set(a * Matrix::Identity(d, d), b)).value;
    EXPECT_NEAR(value, expected, kClosedForm * expected);
  };
  check(std::make_shared<ProductMeasure>(4, rademacher()), [&](double) { return std::tanh(a); });
  check(std::make_shared<SphereMeasure>(3, root), [&](double) { return langevin(3 * a); });
  check(std::make_shared<ProductMeasure>(1, uniform(root)),
        [&](double x) { return root * langevin(root * a * x) / x; });
}

// The law of classification tokens is a mixture of two Gaussians, flat in y.
TEST(PromptTheory, TokensOfClassification) {
  const PromptTaskPtr task = test::classification();
  const Matrix covariance = test::random_covariance(4, 2);
  Matrix flat = Matrix::Zero(3, 3);
  flat.topLeftCorner(2, 2) = covariance;
  for (std::int64_t i = 0; i < 10; ++i) {
    const PromptDraw draw = draw_prompt(setting_of(task, logistic_loss(), kInfinity), i);
    const Vector mean = draw.tokens->covariance().topRightCorner(2, 1);  // E[x y]
    Vector centre(3);
    centre << mean, 1;
    const MixtureMeasure mixture(Vector::Ones(2), {std::make_shared<GaussianMeasure>(centre, flat),
                                                   std::make_shared<GaussianMeasure>(-centre, flat)});
    const Vector direction = random_matrix(40 + static_cast<std::uint64_t>(i), 3, 1);
    const Tilt tilt = draw.tokens->tilt(direction, TiltOrder::covariance);
    const Tilt expected = mixture.tilt(direction, TiltOrder::covariance);
    EXPECT_NEAR(tilt.log_partition, expected.log_partition, kClosedForm);
    EXPECT_LE((tilt.mean - expected.mean).norm(), kClosedForm);
    EXPECT_LE((tilt.covariance - expected.covariance).norm(), kClosedForm);
    // softmax-gated: (m tanh t + Σ a_x, tanh t)
    const double gate = std::tanh(direction.head(2).dot(mean) + direction[2]);
    EXPECT_NEAR(tilt.mean[2], gate, kClosedForm);
    EXPECT_LE((tilt.mean.head(2) - gate * mean - covariance * direction.head(2)).norm(), kClosedForm);
  }
}

// Σ = σ² I and A = a I in the plane: given m, <m, A x_q> y_q ~ N(a r², (a σ r)²) with r = |m|, whose density
// is r e^{-r²/2s²}/s². A two-dimensional integral is left.
double limit_of_classification(double s, double sigma, double a, double b) {
  double risk = 0;
  constexpr double kStep = 0.01;  // trapezoidal rule in both: errors below 1e-4
  for (double radius = kStep; radius < 8; radius += kStep) {
    double given = 0;
    for (double g = -8; g <= 8; g += 5 * kStep) {
      const double r = s * radius;
      const double margin = b * std::tanh(a * r * r + a * sigma * r * g);
      given +=
          5 * kStep * std::exp(-g * g / 2) / std::sqrt(2 * std::numbers::pi) * std::log1p(std::exp(-margin));
    }
    risk += kStep * radius * std::exp(-radius * radius / 2) * given;
  }
  return risk;
}

TEST(PromptTheory, LimitOfClassification) {
  const double s = 1.3, sigma = 0.8, a = 0.9, b = 2.5;
  const PromptTaskPtr task =
      std::make_shared<MixtureClassification>(s, sigma * sigma * Matrix::Identity(2, 2));
  const PromptRisk risk(setting_of(task, logistic_loss(), kInfinity), 40000);
  const RiskPoint point = risk.at(on_invariant_set(a * Matrix::Identity(2, 2), b));
  const double exact = limit_of_classification(s, sigma, a, b);
  EXPECT_LE(point.error, 0.02 * exact);
  EXPECT_LE(std::abs(point.value - exact), kMaxZ * point.error);
}

}  // namespace
}  // namespace largo::prompt_theory_test
