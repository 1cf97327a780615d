#include "largo/icl/ridge_floor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "largo/runtime/check.hpp"
#include "numerics/factor.hpp"
#include "support/sampled_mean.hpp"

namespace largo::ridge_floor_test {
namespace {

// For comparisons with samples: there are 20, each beyond 4 standard errors once in 16,000 times.
constexpr double kLargestZ = 4;

Matrix normals(Eigen::Index rows, Eigen::Index columns, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(rows, columns, [&] { return normal(random); });
}

struct Roots {
  Matrix C, C_q, P;
};

RegressionProblem from_roots(const Roots& roots, double noise) {
  return {roots.C * roots.C.transpose(), roots.C_q * roots.C_q.transpose(), roots.P * roots.P.transpose(),
          noise, 1};
}

// Draws tasks, tokens and queries, solves ridge regression in its dual form (which needs no inverse of Ω, and
// allows τ = 0), and compares predictions with labels.
test::SampledMean simulate(const Roots& roots, double noise, Eigen::Index L, int prompts,
                           std::mt19937_64& random) {
  const Matrix omega = roots.P * roots.P.transpose();
  test::SampledMean risk;
  for (int i = 0; i < prompts; ++i) {
    const Vector w = roots.P * normals(roots.P.cols(), 1, random);
    const Matrix X = normals(L, roots.C.cols(), random) * roots.C.transpose();
    const Vector y = X * w + std::sqrt(noise) * normals(L, 1, random);
    const Vector query = roots.C_q * normals(roots.C_q.cols(), 1, random);
    Matrix gram = X * omega * X.transpose();
    gram.diagonal().array() += noise;
    const Vector mean = omega * X.transpose() * numerics::least_squares(gram, y);
    risk.add(std::pow(query.dot(w - mean), 2) / 2);
  }
  return risk;
}

TEST(RidgeFloor, IsWhatRidgeRegressionAchieves) {
  std::mt19937_64 random(11);
  constexpr int kPrompts = 20000;
  for (const Eigen::Index d : {1, 2, 4}) {
    for (const double noise : {0.0, 0.2}) {
      for (const Eigen::Index L : {1, 2, 3, 12}) {
        const Roots roots{normals(d, d, random), normals(d, d, random), normals(d, d, random) / 2};
        const RidgeFloor floor = ridge_floor(from_roots(roots, noise), static_cast<double>(L));
        const test::SampledMean simulated = simulate(roots, noise, L, kPrompts, random);
        EXPECT_NEAR(floor.value, simulated.value(),
                    kLargestZ * std::hypot(floor.standard_error, simulated.error()) + 1e-12)
            << d << ", " << noise << ", " << L;
        EXPECT_LE(floor.low, floor.value);
        EXPECT_GE(floor.high, floor.value);
      }
    }
  }
}

TEST(RidgeFloor, OfSingularCovariances) {
  std::mt19937_64 random(12);
  Roots roots{normals(4, 2, random), normals(4, 3, random), normals(4, 3, random)};
  for (const double noise : {0.0, 0.1}) {
    for (const Eigen::Index L : {1, 5}) {
      const RidgeFloor floor = ridge_floor(from_roots(roots, noise), static_cast<double>(L));
      const test::SampledMean simulated = simulate(roots, noise, L, 20000, random);
      EXPECT_NEAR(floor.value, simulated.value(),
                  kLargestZ * std::hypot(floor.standard_error, simulated.error()))
          << noise << ", " << L;
    }
  }
  // Tasks along directions that no token has are never learnt.
  RegressionProblem blind = paper_problem(Matrix(Vector(Vector::Unit(2, 0)).asDiagonal()));
  blind.query_covariance = Matrix::Identity(2, 2);
  EXPECT_DOUBLE_EQ(ridge_floor(blind, 100).value, 0.5);
  EXPECT_DOUBLE_EQ(ridge_floor(blind, INFINITY).value, 0.5);
  // Without noise, even a direction of hardly any variance is learnt.
  blind.covariance(1, 1) = 1e-28;
  EXPECT_EQ(ridge_floor(blind, 100).value, 0);
  blind.prior_covariance.setZero();
  EXPECT_EQ(ridge_floor(blind, 3).value, 0);
}

TEST(RidgeFloor, HasItsClosedForms) {
  RegressionProblem problem = paper_problem(Matrix::Identity(5, 5));
  for (int L = 1; L < 8; ++L) {
    const RidgeFloor floor = ridge_floor(problem, L);
    EXPECT_NEAR(floor.value, std::max(0, 5 - L) / 2.0, 1e-14);
    EXPECT_EQ(floor.prompts, 0);
  }
  problem.noise_variance = 0.3;
  EXPECT_EQ(ridge_floor(problem, INFINITY).value, 0);
  EXPECT_NEAR(ridge_floor(problem, 1e300).value, 0.5 * 5 * 0.3 / 1e300, 1e-313);
  // One dimension and one token: ½ E 1/(1 + g²/τ²), here by the midpoint rule.
  problem = paper_problem(Matrix::Identity(1, 1));
  problem.noise_variance = 0.3;
  double expected = 0;
  constexpr double kStep = 1e-3;
  for (double g = -10 + kStep / 2; g < 10; g += kStep) {
    expected += kStep * std::exp(-g * g / 2) / std::sqrt(2 * std::numbers::pi) / (1 + g * g / 0.3) / 2;
  }
  const RidgeFloor floor = ridge_floor(problem, 1);
  EXPECT_NEAR(floor.value, expected, 1e-11);
  EXPECT_EQ(floor.prompts, 0);
}

// At large L the floor is ½ (τ² tr(Σ⁻¹Σ_q)/(L - d - 1) - τ⁴ tr(Σ⁻¹Σ_qΣ⁻¹Ω⁻¹)/L²), up to factors 1 + O(L⁻²),
// and the controls leave little to chance.
TEST(RidgeFloor, IsPreciseForLongPrompts) {
  Matrix covariance(3, 3);
  covariance << 1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1;
  RegressionProblem problem = paper_problem(covariance);
  problem.noise_variance = 0.1;
  for (const double L : {1e3, 1e5, 1e9}) {
    const RidgeFloor floor = ridge_floor(problem, L, {.samples = 2000});
    const double leading = 0.5 * 0.1 * 3 / (L - 4);
    const double next = 0.5 * 0.01 * 13 / 3 / (L * L);  // tr Σ⁻¹ = 13/3
    EXPECT_NEAR(floor.value, leading - next,
                20 * leading / (L * L) + kLargestZ * floor.standard_error + 1e-10 * leading);
    EXPECT_LT(floor.standard_error, 0.1 * leading / L + 1e-9 * leading);
  }
}

// However little noise there is, the floor of a long prompt is ½ τ² tr(Σ⁻¹Σ_q)/(L - d - 1). Noise that is too
// small to change any number counts as none.
TEST(RidgeFloor, OfFaintNoise) {
  Matrix covariance(3, 3);
  covariance << 1, 0.5, 0.25, 0.5, 1, 0.5, 0.25, 0.5, 1;
  RegressionProblem problem = paper_problem(covariance);
  problem.prior_covariance = Matrix(Vector{{1, 2, 3}}.asDiagonal());
  for (const double noise : {1e-20, 1e-80, 1e-200}) {
    problem.noise_variance = noise;
    const RidgeFloor floor = ridge_floor(problem, 20, {.samples = 2000});
    EXPECT_NEAR(floor.value / noise, 0.5 * 3 / 16, 1e-11);
    EXPECT_LT(floor.standard_error / noise, 1e-10);
    EXPECT_LT(floor.low, floor.value);
    EXPECT_LT(floor.value, floor.high);
  }
  problem.noise_variance = 0;
  const RidgeFloor without = ridge_floor(problem, 2);
  EXPECT_GT(without.standard_error, 0);
  for (const double noise : {1e-40, 1e-200, 1e-300, 4e-324}) {
    problem.noise_variance = noise;
    EXPECT_NEAR(ridge_floor(problem, 2).value, without.value, 1e-13 * without.value);
    for (const double L : {3.0, 4.0, 1e5, 1e300})
      EXPECT_NEAR(ridge_floor(problem, L).value, 0, 1e-19) << noise;
  }
  // Units do not matter: all covariances and the noise are multiplied by 2^400.
  problem.noise_variance = 0.1;
  const RidgeFloor usual = ridge_floor(problem, 10);
  const double unit = std::ldexp(1.0, 400);
  for (Matrix* matrix : {&problem.covariance, &problem.query_covariance}) *matrix *= unit;
  problem.noise_variance *= unit;
  EXPECT_NEAR(ridge_floor(problem, 10).value / unit, usual.value, 1e-12 * usual.value);
}

// Two columns have norms r_1, r_2 (r² = D² χ²_L) and an angle whose sin² = u is Beta((L - 1)/2, 1/2). This is
// the floor for diagonal covariances, F = 1, by the midpoint rule in ln r_1², ln r_2² and logit u.
double two_column_floor(double D1, double D2, double noise, double L) {
  constexpr double kStep = 0.4;
  const auto chi = [&](double x) { return std::exp(0.5 * L * x - 0.5 * std::exp(x)); };
  double mass = 0, sum = 0;
  for (double a = -80; a < 5; a += kStep) {
    const double first = chi(a), x = D1 * D1 * std::exp(a) / noise;
    if (first < 1e-18) continue;
    for (double b = -80; b < 5; b += kStep) {
      const double second = first * chi(b), y = D2 * D2 * std::exp(b) / noise;
      if (second < 1e-18) continue;
      for (double z = -60; z < 60; z += kStep) {
        const double u = 1 / (1 + std::exp(-z)), rest = 1 / (1 + std::exp(z));
        const double weight = second * std::pow(u, 0.5 * (L - 1)) * std::sqrt(rest);
        mass += weight;
        sum += weight * (2 + x + y) / (1 + x + y + x * y * u);
      }
    }
  }
  return sum / mass / 2;
}

RegressionProblem two_columns(double D1, double D2, double noise) {
  // Σ = Ω = diag(D): the root of Σ^{1/2}ΩΣ^{1/2} is diag(D), and Ω^{1/2}Σ_qΩ^{1/2} = 1 for Σ_q = Ω⁻¹.
  const Matrix S = Vector{{D1, D2}}.asDiagonal();
  return {S, S.inverse(), S, noise, 1};
}

// Where L is the rank or little more and noise is faint, one prompt in many carries the mean.
TEST(RidgeFloor, SeesRarePrompts) {
  constexpr double kRule = 1e-8;  // of two_column_floor: half its step adds 3e-17 to 5e-9
  for (const double D2 : {1.0, 0.01}) {
    for (const double noise : {1e-12, 1e-4, 0.3}) {
      for (const double L : {2.0, 3.0, 4.0}) {
        const RidgeFloor floor = ridge_floor(two_columns(1, D2, noise), L, {.samples = 2000}, 3);
        const double truth = two_column_floor(1, D2, noise, L);
        EXPECT_NEAR(floor.value, truth, kLargestZ * floor.standard_error + kRule * truth)
            << D2 << ", " << noise << ", " << L;
        EXPECT_LT(floor.standard_error, 0.02 * truth);
      }
    }
  }
}

// Of 200 intervals of two standard errors 191 are expected to hold, and fewer than 181 do once in 1000 times.
TEST(RidgeFloor, KeepsItsLevelForFaintNoise) {
  const double truth = two_column_floor(1, 1, 1e-12, 2);
  EXPECT_NEAR(truth, 9.84e-7, 1e-9);
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const RidgeFloor floor = ridge_floor(two_columns(1, 1, 1e-12), 2, {.samples = 200}, seed);
    held += std::abs(floor.value - truth) <= 2 * floor.standard_error ? 1 : 0;
  }
  EXPECT_GE(held, 181);
}

TEST(RidgeFloor, SameBitsForThreadsAndBadInputRefused) {
  RegressionProblem problem = paper_problem(Matrix::Identity(3, 3));
  problem.noise_variance = 0.1;
  const double value = ridge_floor(problem, 4, {}, 2, {.threads = 1}).value;
  EXPECT_EQ(ridge_floor(problem, 4, {}, 2, {.threads = 3}).value, value);
  EXPECT_NE(ridge_floor(problem, 4, {}, 3, {.threads = 3}).value, value);
  EXPECT_THROW(ridge_floor(problem, 0), InputError);
  EXPECT_THROW(ridge_floor(problem, 2.5), InputError);
  EXPECT_THROW(ridge_floor(problem, std::nan("")), InputError);
  problem.noise_variance = -1;
  EXPECT_THROW(ridge_floor(problem, 2), InputError);
}

}  // namespace
}  // namespace largo::ridge_floor_test
