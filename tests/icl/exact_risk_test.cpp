// Risks off the invariant set against references computed in another way (risk_oracle.py) and against risks
// on that set, and their gradients against differences.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "icl/regression_settings.hpp"
#include "icl/risk_references.hpp"
#include "largo/icl/exact_risk.hpp"
#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/runtime/check.hpp"

namespace largo::exact_risk_test {
namespace {

using test::kInfinity;

// References come from eight scrambles: Student's t of 7 degrees of freedom exceeds this in 1e-3 of cases.
constexpr double kQuantile = 5.41;
constexpr double kLargestError = 1e-4;  // of the reported errors, relative to the risk

// d = 1, everything standard, U = [[0.5, 0], [0.7, 0]], v = (0, 1): a two-dimensional quadrature,
// "risk_oracle.py check", gives the risks to 2e-8.
TEST(ExactRisk, OfOneDimension) {
  const RegressionProblem problem = test::round_problem(1);
  const RegressionParameters given{Matrix{{0.5, 0}, {0.7, 0}}, Vector{{0.0, 1.0}}};
  constexpr double kLimit = 0.86;
  const auto check = [&](double L, double excess, double tolerance) {
    const Estimate risk = exact_risk(problem, L, given);
    EXPECT_NEAR(risk.value - kLimit, excess, tolerance) << L;
    EXPECT_LE(risk.error, 1e-8) << L;
    EXPECT_EQ(regression_risk(problem, AttentionKind::softmax, L, given).value, risk.value) << L;
  };
  check(1e4, 0.79956805 - kLimit, 3e-8);
  check(1e6, 0.83288404 - kLimit, 3e-8);
  check(1e16, 0.858931 - kLimit, 5e-7);
  check(1e32, -2.135e-5, 5e-9);
  check(1e64, -5.6e-8, 5e-11);
  EXPECT_NEAR(regression_risk(problem, AttentionKind::softmax, kInfinity, given).value, kLimit, 1e-14);
}

// The random number generator of risk_oracle.py.
class Uniforms {
 public:
  explicit Uniforms(std::uint64_t seed) : state_(seed) {}
  double operator()() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return 2 * static_cast<double>(state_ >> 11) * 0x1p-53 - 1;
  }
  Matrix operator()(Eigen::Index rows, Eigen::Index columns) {
    Matrix values(rows, columns);
    for (Eigen::Index i = 0; i < rows; ++i) {
      for (Eigen::Index j = 0; j < columns; ++j) values(i, j) = (*this)();
    }
    return values;
  }

 private:
  std::uint64_t state_;
};

struct Setting {
  RegressionProblem problem;
  RegressionParameters parameters, direction;
  double L;

  explicit Setting(int number) {
    constexpr Eigen::Index kDimensions[] = {1, 2, 3, 5};
    constexpr double kLengths[] = {10, 100, 1e4, 1e8, 1e16, 1e32, 1e64};
    const Eigen::Index d = kDimensions[number % 4];
    L = kLengths[number / 4 % 7];
    Uniforms draw(static_cast<std::uint64_t>(number) + 1);
    draw(8, 1);
    for (Matrix* covariance : {&problem.covariance, &problem.query_covariance, &problem.prior_covariance}) {
      const Matrix A = draw(d, d);
      *covariance = 0.3 * Matrix::Identity(d, d) + A * A.transpose() * 1.5 / static_cast<double>(d);
    }
    problem.noise_variance = number % 3 == 0 ? 0 : 0.5 * (1 + draw());
    problem.score_scale = 1;
    const double root = std::sqrt(static_cast<double>(d + 1));
    parameters.U = draw(d + 1, d + 1);
    parameters.U *= (2.4 + 1.2 * draw()) / root;
    parameters.v = draw(d + 1, 1) * 1.5 / root;
    direction.U = draw(d + 1, d + 1);
    direction.v = draw(d + 1, 1);
  }
};

struct Coverage {
  int settings = 0, risks = 0, slopes = 0;  // how many are within the errors
};

Coverage coverage(int stride) {
  Coverage covered;
  for (const test::RiskReference& reference : test::kRiskReferences) {
    if (reference.number % stride != 0) continue;
    const Setting setting(reference.number);
    const RiskAndGradient found = exact_risk_and_gradient(setting.problem, setting.L, setting.parameters);
    const Vector direction = to_vector(setting.direction);
    const double slope = found.gradient.dot(direction);
    const double away = std::abs(found.risk.value - reference.risk);
    const double slope_away = std::abs(slope - reference.slope);
    EXPECT_LE(found.risk.error, kLargestError * found.risk.value) << reference.number;
    EXPECT_LE(found.gradient_error, kLargestError * found.gradient.norm()) << reference.number;
    ++covered.settings;
    covered.risks += away <= found.risk.error + kQuantile * reference.risk_error ? 1 : 0;
    covered.slopes +=
        slope_away <= found.gradient_error * direction.norm() + kQuantile * reference.slope_error ? 1 : 0;
    if (std::getenv("LARGO_LONG_TESTS") != nullptr) {
      std::printf("%2d d %d L %5g risk %.8g (%.1e) off %+.1f slope %.8g (%.1e) off %+.1f standard errors\n",
                  reference.number, static_cast<int>(setting.problem.dimension()), setting.L,
                  found.risk.value, found.risk.error,
                  (found.risk.value - reference.risk) / reference.risk_error, slope, found.gradient_error,
                  (slope - reference.slope) / reference.slope_error);
    }
  }
  return covered;
}

TEST(ExactRisk, TruthIsWithinTheError) {
  const Coverage covered = coverage(7);  // every dimension, six lengths
  EXPECT_GE(covered.settings, 8);
  EXPECT_EQ(covered.risks, covered.settings);
  EXPECT_EQ(covered.slopes, covered.settings);
}

TEST(ExactRisk, TruthIsWithinTheErrorOfSixtySettings) {
  if (std::getenv("LARGO_LONG_TESTS") == nullptr) GTEST_SKIP() << "set LARGO_LONG_TESTS=1";
  const Coverage covered = coverage(1);
  EXPECT_EQ(covered.settings, 60);
  EXPECT_GE(covered.risks, 59);
  EXPECT_GE(covered.slopes, 59);
}

TEST(ExactRisk, OnTheInvariantSet) {
  for (const Eigen::Index d : {1, 2}) {
    const auto id = static_cast<std::uint64_t>(d) + 30;
    const RegressionProblem problem = test::random_problem(id, d);
    const Vector at = test::random_invariant(id, d);
    const auto map = invariant_map(d);
    for (const double L : {1.0, 1e5}) {
      SCOPED_TRACE(::testing::Message() << "d = " << d << ", L = " << L);
      const RiskPoint known = invariant_risk(problem, AttentionKind::softmax, L)->at(at);
      const RiskAndGradient found = exact_risk_and_gradient(problem, L, to_parameters(map->map(at), d));
      EXPECT_LE(std::abs(found.risk.value - known.value), found.risk.error + known.error);
      EXPECT_LE(found.risk.error, 1e-6 * known.value);
      EXPECT_LE((map->pull_back(map->map(at), found.gradient) - known.gradient).norm(),
                found.gradient_error + 1e-9 * known.gradient.norm());
      EXPECT_LE(found.gradient_error, kLargestError * known.gradient.norm());
    }
  }
}

Estimate slope_by_differences(const RegressionProblem& problem, double L, const Vector& at,
                              const Vector& direction) {
  constexpr double kSize = 4e-3;
  constexpr double kFourthOrder = 1e-8;  // error of the five-point rule
  double error = 0;
  const auto risk = [&](double step) {
    const Estimate there = exact_risk(problem, L, to_parameters(at + step * direction, problem.dimension()));
    error = std::max(error, there.error);
    return there.value;
  };
  const double slope =
      (8 * (risk(kSize) - risk(-kSize)) - (risk(2 * kSize) - risk(-2 * kSize))) / (12 * kSize);
  return {slope, 1.5 * error / kSize + kFourthOrder};
}

TEST(ExactRisk, GradientsAreThoseOfTheRisk) {
  for (const Eigen::Index d : {1, 3}) {
    const auto id = static_cast<std::uint64_t>(d);
    const RegressionProblem problem = test::random_problem(id, d);
    Vector at = to_vector(test::random_parameters(id, d));
    for (const double L : {2.0, 1e5}) {
      const RiskAndGradient found = exact_risk_and_gradient(problem, L, to_parameters(at, d));
      for (std::uint64_t k = 0; k < 2; ++k) {
        const Vector direction = to_vector(test::random_parameters(20 + k, d));
        const Estimate slope = slope_by_differences(problem, L, at, direction);
        EXPECT_NEAR(found.gradient.dot(direction), slope.value,
                    found.gradient_error * direction.norm() + slope.error)
            << "d = " << d << ", L = " << L << ", direction " << k;
      }
    }
  }
}

// U_21 vanishes, or nearly so, but v_x does not.
TEST(ExactRisk, GradientsWhereLabelsAreNotScored) {
  const Eigen::Index d = 2;
  const RegressionProblem problem = test::random_problem(1, d);
  for (const double size : {0.0, 1e-3}) {
    RegressionParameters given = test::random_parameters(1, d);
    given.U.row(d) *= size;
    const RiskAndGradient found = exact_risk_and_gradient(problem, 50, given);
    EXPECT_LE(found.gradient_error, kLargestError * found.gradient.norm()) << size;
    for (std::uint64_t k = 0; k < 2; ++k) {
      const Vector direction = to_vector(test::random_parameters(20 + k, d));
      const Estimate slope = slope_by_differences(problem, 50, to_vector(given), direction);
      EXPECT_NEAR(found.gradient.dot(direction), slope.value,
                  found.gradient_error * direction.norm() + slope.error)
          << size;
    }
  }
}

TEST(ExactRisk, SameBitsForAnyThreads) {
  const RegressionProblem problem = test::random_problem(2, 3);
  const RegressionParameters given = test::random_parameters(2, 3);
  const RiskAndGradient one = exact_risk_and_gradient(problem, 50, given, {.threads = 1});
  const RiskAndGradient three = exact_risk_and_gradient(problem, 50, given, {.threads = 3});
  EXPECT_EQ(one.risk.value, three.risk.value);
  EXPECT_EQ(one.risk.error, three.risk.error);
  EXPECT_EQ(one.gradient, three.gradient);
  EXPECT_EQ(one.gradient_error, three.gradient_error);
  EXPECT_EQ(exact_risk(problem, 50, given).value, one.risk.value);
}

// Where U is large, attention sees the largest score alone, and the risk at d = 1 is that of the prediction
// w X sgn(xa), with a = U_11 + U_21 w and X the largest of L normals. It follows from E|x| = √(2/π) and
// E[w²; w < -h] = h φ(h) + Φ(-h).
TEST(ExactRisk, OfLargeScores) {
  const RegressionProblem problem = test::round_problem(1);
  constexpr double kMean = 2.507593637, kSquare = 6.472430659;  // E X and E X² for L = 100
  constexpr double kRatio = 1.5;
  const double density = std::exp(-kRatio * kRatio / 2) / std::sqrt(2 * std::numbers::pi);
  const double below = kRatio * density + 0.5 * std::erfc(kRatio / std::sqrt(2.0));
  const double hard = 0.5 * (kSquare - 2 * kMean * std::sqrt(2 / std::numbers::pi) * (1 - 2 * below) + 1);
  double before = 0;
  for (const double size : {1e2, 1e3, 1e4}) {
    const RegressionParameters given{Matrix{{size, 0}, {size / kRatio, 0}}, Vector{{0.0, 1.0}}};
    const RiskAndGradient found = exact_risk_and_gradient(problem, 100, given);
    EXPECT_LE(found.risk.error, 1e-5 * found.risk.value) << size;
    EXPECT_LE(found.gradient_error, 1e-5 * found.gradient.norm()) << size;
    const double away = hard - found.risk.value;  // C/size, up to logarithms
    if (before > 0) {
      EXPECT_NEAR(away / before, 0.15, 0.03) << size;
    }
    before = away;
  }
  EXPECT_NEAR(before, 0, 6e-3);
}

// Without value weights the risk is that of predicting zero, and its gradient in v has the rules' error.
TEST(ExactRisk, GradientErrorsOfSmallValueWeights) {
  const RegressionProblem problem = test::random_problem(2, 2);
  for (const double size : {0.0, 1e-200, 1e-12, 1e-3}) {
    RegressionParameters given = test::random_parameters(2, 2);
    given.v *= size;
    const RiskAndGradient found = exact_risk_and_gradient(problem, 100, given);
    EXPECT_LE(found.gradient_error, 1e-5 * found.gradient.norm()) << size;
    RegressionParameters direction{Matrix::Zero(3, 3), Vector{{0.3, -0.2, 1.0}}};
    const Estimate slope = slope_by_differences(problem, 100, to_vector(given), to_vector(direction));
    EXPECT_NEAR(found.gradient.dot(to_vector(direction)), slope.value, 2 * found.gradient_error + slope.error)
        << size;
  }
}

// Very long prompts with large scores take no longer than others.
TEST(ExactRisk, OfVeryLongPrompts) {
  const RegressionParameters given{Matrix{{30, 0}, {20, 0}}, Vector{{0.0, 1.0}}};
  const Estimate risk = exact_risk(test::round_problem(1), 1e300, given);
  EXPECT_NEAR(risk.value, 257.8614, 1e-3);
  EXPECT_LE(risk.error, 1e-5 * risk.value);
}

// Degenerate problems, in which all that may vanish does so, in turn.
TEST(ExactRisk, OfDegenerateProblems) {
  const RegressionParameters given = test::random_parameters(3, 2);
  for (int which = 0; which < 16; ++which) {
    RegressionProblem problem = test::random_problem(3, 2);
    if ((which & 1) != 0) problem.covariance.setZero();
    if ((which & 2) != 0) problem.query_covariance.setZero();
    if ((which & 4) != 0) problem.prior_covariance = Matrix{{1, 1}, {1, 1}};
    if ((which & 8) != 0) problem.noise_variance = 0;
    const RiskAndGradient found = exact_risk_and_gradient(problem, 5, given);
    EXPECT_TRUE(found.gradient.allFinite() && found.gradient_error >= 0) << which;
    const RiskPoint other =
        general_risk(problem, AttentionKind::softmax, 5, {1 << 14, 1})->at(to_vector(given));
    EXPECT_NEAR(found.risk.value, other.value, other.error + 1e-6 * other.value) << which;
  }
  EXPECT_THROW(exact_risk(test::random_problem(3, 2), 0.5, given), InputError);
  EXPECT_THROW(exact_risk(test::random_problem(3, 2), kInfinity, given), InputError);
  EXPECT_THROW(exact_risk(test::random_problem(3, 3), 5, given), InputError);
}

}  // namespace
}  // namespace largo::exact_risk_test
