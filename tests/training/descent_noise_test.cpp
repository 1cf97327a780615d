// The noise of stochastic descent, against the recursion of its covariance and against descents.
#include "largo/training/descent_noise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "largo/random/streams.hpp"
#include "largo/runtime/check.hpp"
#include "largo/training/stochastic_descent.hpp"
#include "risks.hpp"

namespace largo::descent_noise_test {
namespace {

using test::FunctionRisk;

Matrix normal_matrix(Eigen::Index rows, Eigen::Index cols, std::uint64_t seed) {
  Matrix matrix(rows, cols);
  Stream(seed, 0).normals(0, {matrix.data(), static_cast<std::size_t>(matrix.size())});
  return matrix;
}

Matrix covariance_of_rank(Eigen::Index size, Eigen::Index rank, std::uint64_t seed) {
  const Matrix root = normal_matrix(size, rank, seed);
  return root * root.transpose() / static_cast<double>(size);
}

// The recursion step by step, by definition.
DescentNoise recursion(const Vector& g, const Matrix& H, const Matrix& S, double eta, int steps) {
  const Matrix I = Matrix::Identity(H.rows(), H.cols());
  Matrix C = Matrix::Zero(H.rows(), H.cols());
  for (int n = 0; n < steps; ++n) C = (I - eta * H) * C * (I - eta * H) + eta * eta * S;
  return {(H * C).trace() / 2, std::sqrt(g.dot(C * g) + (H * C * H * C).trace() / 2)};
}

TEST(DescentNoise, IsThatOfTheRecursion) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Eigen::Index size = 2 + static_cast<Eigen::Index>(seed);
    Matrix H = covariance_of_rank(size, seed % 2 == 0 ? size : size - 1, seed);  // some with a flat direction
    if (seed == 5) H -= 2e-3 * Matrix::Identity(size, size);                     // or a falling one
    const Vector g =
        seed % 2 == 0 ? Vector::Zero(size).eval() : normal_matrix(size, 1, 50 + seed).col(0).eval();
    const Matrix S = covariance_of_rank(size, size, 100 + seed);
    for (const int steps : {0, 1, 7, 400}) {
      const DescentNoise exact = recursion(g, H, S, 0.1, steps), noise = descent_noise(g, H, S, 0.1, steps);
      EXPECT_NEAR(noise.excess, exact.excess, 1e-11 * (1 + std::abs(exact.excess)));
      EXPECT_NEAR(noise.spread, exact.spread, 1e-11 * (1 + exact.spread));
    }
  }
}

TEST(DescentNoise, OfManySmallStepsDoesNotDependOnTheCurvature) {
  const Matrix S = covariance_of_rank(4, 4, 7);
  for (const double curvature : {0.5, 3.0}) {
    const Matrix H = covariance_of_rank(4, 4, 8) + curvature * Matrix::Identity(4, 4);
    EXPECT_NEAR(descent_noise(Vector::Zero(4), H, S, 1e-6, 100'000'000).excess, 1e-6 * S.trace() / 4,
                1e-5 * 1e-6);
  }
}

TEST(DescentNoise, WithoutCurvatureCostsNothing) {
  const DescentNoise noise =
      descent_noise(Vector::Zero(3), Matrix::Zero(3, 3), Matrix::Identity(3, 3), 0.1, 1000);
  EXPECT_EQ(noise.excess, 0);
  EXPECT_EQ(noise.spread, 0);
}

TEST(DescentNoise, OfStepsThatGoAwayIsInfinite) {
  const auto excess = [&](double first, double second, double noise, double step, std::int64_t steps) {
    const Vector curvatures{{first, second}}, noises{{1, noise}};
    return descent_noise(Vector::Zero(2), curvatures.asDiagonal().toDenseMatrix(),
                         noises.asDiagonal().toDenseMatrix(), step, steps)
        .excess;
  };
  EXPECT_TRUE(std::isfinite(excess(3, 1, 1, 0.66, 10)));
  EXPECT_TRUE(std::isinf(excess(3, 1, 1, 0.67, 10)));
  EXPECT_TRUE(std::isfinite(excess(1, -0.01, 1, 0.1, 30)));
  EXPECT_TRUE(std::isinf(excess(1, -0.01, 1, 0.1, 100)));
  EXPECT_TRUE(std::isfinite(excess(1, -0.01, 0, 0.1, 1000)));  // without noise nothing moves that way
  EXPECT_TRUE(std::isinf(excess(1, -1, 1e-9, 1, 1'000'000)));
}

TEST(DescentNoise, BadInput) {
  const Matrix I = Matrix::Identity(2, 2);
  const Vector zero = Vector::Zero(2);
  EXPECT_THROW(descent_noise(zero, I, Matrix::Identity(3, 3), 0.1, 1), InputError);
  EXPECT_THROW(descent_noise(zero, Matrix::Identity(2, 3), I, 0.1, 1), InputError);
  EXPECT_THROW(descent_noise(Vector::Zero(3), I, I, 0.1, 1), InputError);
  EXPECT_THROW(descent_noise(zero * std::nan(""), I, I, 0.1, 1), InputError);
  EXPECT_THROW(descent_noise(zero, I, I, 0, 1), InputError);
  EXPECT_THROW(descent_noise(zero, I, I, 0.1, -1), InputError);
  EXPECT_THROW(descent_noise(zero, I, I * std::nan(""), 0.1, 1), InputError);
}

// 1 + ½ θᵀHθ, with normal noise in the gradients.
class Noisy final : public StochasticRisk {
 public:
  Noisy(Matrix H, Matrix root, std::uint64_t seed) : H_(std::move(H)), root_(std::move(root)), seed_(seed) {}
  Eigen::Index size() const override { return H_.rows(); }
  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override {
    Vector noise(root_.cols());
    Stream(seed_, static_cast<std::uint64_t>(step))
        .normals(0, {noise.data(), static_cast<std::size_t>(noise.size())});
    const Vector slope = H_ * parameters;
    return {1 + parameters.dot(slope) / 2, 0, slope + root_ * noise};
  }

 private:
  Matrix H_, root_;
  std::uint64_t seed_;
};

// 2000 descents of 40 steps: mean and variance are within 4 standard errors of the prediction.
TEST(DescentNoise, IsThatOfDescents) {
  const Matrix H = covariance_of_rank(3, 3, 1) + 0.3 * Matrix::Identity(3, 3);
  const Matrix root = normal_matrix(3, 3, 2);
  const DescentNoise predicted = descent_noise(Vector::Zero(3), H, root * root.transpose(), 0.2, 40);
  DescentOptions options;
  options.step_size = constant_steps(0.2);
  options.steps = 40;
  options.divergence_factor = 1e6;
  std::vector<double> excess;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    DescentState state;
    state.parameters = Vector::Zero(3);
    const Vector end = descend(Noisy(H, root, seed), state, options).parameters;
    excess.push_back(end.dot(H * end) / 2);
  }
  const auto count = static_cast<double>(excess.size());
  double mean = 0, squares = 0, fourth = 0;
  for (const double x : excess) mean += x / count;
  for (const double x : excess) {
    const double square = (x - mean) * (x - mean);
    squares += square / count;
    fourth += square * square / count;
  }
  EXPECT_LT(std::abs(mean - predicted.excess), 4 * std::sqrt(squares / count));
  EXPECT_LT(std::abs(squares - predicted.spread * predicted.spread),
            4 * std::sqrt((fourth - squares * squares) / count));
}

TEST(Hessian, OfAFunctionThatIsNotQuadratic) {
  // e^x + x y² + cos z
  const FunctionRisk risk(3, [](const Vector& at) {
    const double x = at[0], y = at[1], z = at[2];
    Vector gradient(3);
    gradient << std::exp(x) + y * y, 2 * x * y, -std::sin(z);
    return RiskPoint{std::exp(x) + x * y * y + std::cos(z), 0, gradient};
  });
  Vector at(3);
  at << 0.3, -40, 2;
  Matrix expected(3, 3);
  expected << std::exp(0.3), -80, 0, -80, 0.6, 0, 0, 0, -std::cos(2.0);
  EXPECT_LT((hessian(risk, at) - expected).cwiseAbs().maxCoeff(), 1e-8 * 80);
  EXPECT_THROW(hessian(risk, Vector::Zero(2)), InputError);
}

// cosh(x/X) + cosh y at (X, 1): differences are taken in units of each parameter's size. A step of at most
// 1e-3 of it has an error of a sixth of its square.
TEST(Hessian, OfParametersOfDifferentSizes) {
  for (const double size : {1e-5, 1.0, 1e8}) {
    const FunctionRisk risk(2, [size](const Vector& at) {
      const double u = at[0] / size, y = at[1];
      return RiskPoint{std::cosh(u) + std::cosh(y), 0, Vector{{std::sinh(u) / size, std::sinh(y)}}};
    });
    const Matrix found = hessian(risk, Vector{{size, 1}});
    EXPECT_NEAR(found(0, 0) * size * size, std::cosh(1.0), 1e-6) << size;
    EXPECT_NEAR(found(1, 1), std::cosh(1.0), 1e-6) << size;
  }
}

TEST(GradientCovariance, IsThatOfTheBatches) {
  const Noisy risk(Matrix::Identity(3, 3), normal_matrix(3, 3, 2), 5);
  const Vector at = Vector::Constant(3, 100);
  Matrix gradients(3, 50);
  for (int n = 0; n < 50; ++n) gradients.col(n) = risk.batch(at, 11 + n).gradient;
  const Matrix centred = gradients.colwise() - gradients.rowwise().mean();
  const Matrix expected = centred * centred.transpose() / 49;
  EXPECT_LT((gradient_covariance(risk, at, 11, 50) - expected).norm(), 1e-12 * expected.norm());
  EXPECT_THROW(gradient_covariance(risk, at, 0, 1), InputError);
  EXPECT_THROW(gradient_covariance(risk, Vector::Zero(2), 0, 2), InputError);
}

}  // namespace
}  // namespace largo::descent_noise_test
