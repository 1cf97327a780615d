#include "largo/exact/query_average.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "largo/exact/gaussian_error.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/softmax_table.hpp"
#include "largo/runtime/check.hpp"
#include "support/random_matrices.hpp"

namespace largo::query_average_test {
namespace {

constexpr test::RandomMatrices normals(13);

struct Problem {
  Matrix covariance, U, V;
  Vector mean;
  Matrix root;  ///< of the query covariance

  AveragedAttentionError average(double L) const {
    return averaged_attention_error(covariance, U, V, mean, root * root.transpose(), L);
  }
  AttentionError at(const Vector& x, double L) const {
    return gaussian_attention_error(covariance, U, V, mean + root * x, L);
  }
};

Problem random_problem(int d, int query_size, int query_rank, std::uint64_t id, double mean) {
  const Matrix R = 0.7 * normals(d, d, id);
  return {R * R.transpose(), 0.6 * normals(d, query_size, id + 1), normals(2, d, id + 2),
          mean * normals(query_size, 1, id + 3),
          normals(query_size, query_rank, id + 4) / std::sqrt(query_size)};
}

struct Averages {
  double output = 0, squared_bias = 0, gradient_V = 0, gradient_U = 0;
  void add(double weight, const AttentionError& error) {
    output += weight * error.output.value;
    squared_bias += weight * error.bias.squaredNorm();
    gradient_V += weight * error.gradient_V.value;
    gradient_U += weight * error.gradient_U.value;
  }
};

void expect_equal(const AveragedAttentionError& got, const Averages& truth, double tolerance) {
  auto expect = [&](const Estimate& estimate, double value, const char* name) {
    EXPECT_NEAR(estimate.value, value, tolerance * value) << name;
    EXPECT_LE(std::abs(estimate.value - value), estimate.error + 1e-13 * value) << name;
    EXPECT_LE(estimate.error, 1e-8 * value) << name;
  };
  expect(got.output, truth.output, "output");
  expect(got.squared_bias, truth.squared_bias, "squared_bias");
  expect(got.gradient_V, truth.gradient_V, "gradient_V");
  expect(got.gradient_U, truth.gradient_U, "gradient_U");
  EXPECT_LE(std::abs(got.self_check), 1e-9);
}

// The trapezoidal rule over the whole line or plane of x, applied to the error at one query, which is all
// that the two computations share.
constexpr double kEnd = 9.5;
constexpr double kNormal = 0.3989422804014327;

TEST(QueryAverage, OnALineByDirectQuadrature) {
  for (const double mean : {0.0, 0.8, 4.0}) {
    for (const double L : {2.0, 50.0, 1e7}) {
      const Problem problem = random_problem(3, 2, 1, 40, mean);
      Averages truth;
      constexpr double kStep = 1.0 / 16;
      for (double x = -kEnd; x <= kEnd; x += kStep) {
        truth.add(kStep * kNormal * std::exp(-0.5 * x * x), problem.at(Vector::Constant(1, x), L));
      }
      SCOPED_TRACE(::testing::Message() << "mean " << mean << ", L = " << L);
      expect_equal(problem.average(L), truth, 1e-9);
    }
  }
}

TEST(QueryAverage, InThePlaneByDirectQuadrature) {
  for (const double mean : {0.0, 0.7}) {
    const Problem problem = random_problem(2, 3, 2, 60, mean);
    const double L = 30;
    Averages truth;
    constexpr double kStep = 1.0 / 6;
    for (double x = -kEnd; x <= kEnd; x += kStep) {
      for (double y = -kEnd; y <= kEnd; y += kStep) {
        const double weight = kStep * kStep * kNormal * kNormal * std::exp(-0.5 * (x * x + y * y));
        if (weight > 1e-19) truth.add(weight, problem.at(Vector((Vector(2) << x, y).finished()), L));
      }
    }
    SCOPED_TRACE(::testing::Message() << "mean " << mean);
    expect_equal(problem.average(L), truth, 1e-9);
  }
}

// The mean lies far outside a flat covariance, so that the density of the spread has a sharp front.
TEST(QueryAverage, FlatQueriesFarFromZero) {
  for (const double mean : {0.5, 3.0, 20.0}) {
    for (const double flat : {0.1, 0.01}) {
      Problem problem = random_problem(2, 2, 2, 80, mean);
      problem.root.col(1) *= flat;
      Averages truth;
      constexpr double kStep = 1.0 / 4;
      for (double x = -kEnd; x <= kEnd; x += kStep) {
        for (double y = -kEnd; y <= kEnd; y += kStep) {
          const double weight = kStep * kStep * kNormal * kNormal * std::exp(-0.5 * (x * x + y * y));
          if (weight > 1e-18) truth.add(weight, problem.at(Vector((Vector(2) << x, y).finished()), 200));
        }
      }
      SCOPED_TRACE(::testing::Message() << "mean " << mean << ", flat " << flat);
      const AveragedAttentionError got = problem.average(200);
      EXPECT_NEAR(got.output.value, truth.output, 1e-8 * truth.output);
      EXPECT_NEAR(got.gradient_U.value, truth.gradient_U, 1e-8 * truth.gradient_U);
      EXPECT_LE(std::abs(got.output.value - truth.output), got.output.error + 1e-9 * truth.output);
      EXPECT_LE(std::abs(got.self_check), 1e-9);
    }
  }
}

// Some directions almost drop out of the scores, as in a product rounded to float32.
TEST(QueryAverage, NearlyLowRank) {
  const Vector u = normals(6, 1, 90).normalized(), v = normals(6, 1, 91).normalized();
  const Matrix U = u * v.transpose();
  const Matrix rounded = U.cast<float>().cast<double>();
  const Matrix identity = Matrix::Identity(6, 6);
  const AveragedAttentionError exact =
      averaged_attention_error(identity, U, identity, Vector::Zero(6), identity, 100);
  const AveragedAttentionError got =
      averaged_attention_error(identity, rounded, identity, Vector::Zero(6), identity, 100);
  EXPECT_NEAR(got.gradient_U.value, exact.gradient_U.value, 1e-6 * exact.gradient_U.value);
  EXPECT_LE(got.gradient_U.error, 1e-9 * got.gradient_U.value);
}

TEST(QueryAverage, FarQueries) {
  const Matrix one = Matrix::Identity(1, 1);
  for (const double mean : {20.0, 80.0}) {
    for (const double deviation : {1.0, 0.01}) {
      const Problem problem{one, one, one, Vector::Constant(1, mean), deviation * one};
      Averages truth;
      constexpr double kStep = 1.0 / 16;
      for (double x = -kEnd; x <= kEnd; x += kStep) {
        truth.add(kStep * kNormal * std::exp(-0.5 * x * x), problem.at(Vector::Constant(1, x), 100));
      }
      SCOPED_TRACE(::testing::Message() << "mean " << mean << ", deviation " << deviation);
      const AveragedAttentionError got = problem.average(100);
      EXPECT_NEAR(got.output.value, truth.output, 1e-9 * truth.output + got.output.error);
      EXPECT_LE(got.output.error, 1e-6 * truth.output);
    }
  }
}

// The squared bias, of the order E[P_2]², comes from farther out than the error.
TEST(QueryAverage, BiasOfVeryLongPrompts) {
  const Matrix one = Matrix::Identity(1, 1);
  const Problem problem{one, 0.5 * one, one, Vector::Zero(1), one};
  for (const double L : {1e55, 1e100}) {
    double bias = 0;
    constexpr double kStep = 1.0 / 16;
    for (double x = kStep / 2; x <= 32; x += kStep) {
      bias += 2 * kStep * kNormal * std::exp(-0.5 * x * x) *
              problem.at(Vector::Constant(1, x), L).bias.squaredNorm();
    }
    EXPECT_NEAR(problem.average(L).squared_bias.value, bias, 1e-8 * bias) << L;
  }
}

// In more dimensions, against random queries: 36 z-scores, each beyond 4 with probability 6e-5 for new seeds.
TEST(QueryAverage, OfRandomQueries) {
  for (const int d : {3, 4, 6}) {
    for (const double mean : {0.0, 0.5}) {
      for (const double L : {10.0, 1e4}) {
        const Problem problem = random_problem(d, d, d - d / 4, static_cast<std::uint64_t>(100 * d), mean);
        const AveragedAttentionError got = problem.average(L);
        Averages sum, squares;
        constexpr int kQueries = 2000;
        for (int i = 0; i < kQueries; ++i) {
          const auto rank = problem.root.cols();
          const AttentionError e = problem.at(
              normals(rank, 1, 7, static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(rank)), L);
          sum.add(1.0 / kQueries, e);
          squares.output += e.output.value * e.output.value / kQueries;
          squares.gradient_V += e.gradient_V.value * e.gradient_V.value / kQueries;
          squares.gradient_U += e.gradient_U.value * e.gradient_U.value / kQueries;
        }
        auto z_score = [](double mean_value, double square, double truth) {
          return std::abs(mean_value - truth) / std::sqrt((square - mean_value * mean_value) / kQueries);
        };
        SCOPED_TRACE(::testing::Message() << "d = " << d << ", mean " << mean << ", L = " << L);
        EXPECT_LE(z_score(sum.output, squares.output, got.output.value), 4);
        EXPECT_LE(z_score(sum.gradient_V, squares.gradient_V, got.gradient_V.value), 4);
        EXPECT_LE(z_score(sum.gradient_U, squares.gradient_U, got.gradient_U.value), 4);
        EXPECT_LE(got.output.error, 1e-8 * got.output.value);
      }
    }
  }
}

// s = σ|x| with x in R^d: one integral over |x| is left, since averages over the sphere have a closed form.
TEST(QueryAverage, IsotropicInHighDimension) {
  for (const int d : {1, 3, 40}) {
    for (const double L : {100.0, 1e6}) {
      const double sigma = 0.9;
      const Matrix identity = Matrix::Identity(d, d);
      const Matrix V = normals(2, d, 5);
      const AveragedAttentionError got =
          averaged_attention_error(identity, sigma * identity, V, Vector::Zero(d), identity, L);
      double output = 0, bias = 0;
      const double log_normal = (1 - 0.5 * d) * std::log(2.0) - std::lgamma(0.5 * d);
      constexpr double kStep = 4e-3;  // of the midpoint rule in r, where ρ = r²: smooth at zero
      for (double r = kStep / 2; r < 4.5; r += kStep) {
        const double rho = r * r;
        const double weight =
            2 * r * kStep * std::exp(log_normal + (d - 1) * std::log(rho) - 0.5 * rho * rho);
        if (weight < 1e-30) continue;
        const SoftmaxMoments m = softmax_moments(sigma * rho, L);
        const double along = V.squaredNorm() / d;
        output += weight * (m.P2.value * (V.squaredNorm() - along) + m.mse.value * along);
        bias += weight * m.P2.value * m.P2.value * sigma * sigma * rho * rho * along;
      }
      EXPECT_NEAR(got.output.value, output, 1e-6 * output) << d;
      EXPECT_NEAR(got.squared_bias.value, bias, 1e-6 * bias) << d;
      // gradient_V is twice the output error of V = I, since V has two rows.
      const AveragedAttentionError whole =
          averaged_attention_error(identity, sigma * identity, identity, Vector::Zero(d), identity, L);
      EXPECT_NEAR(got.gradient_V.value, 2 * whole.output.value, 1e-10 * got.gradient_V.value);
    }
  }
}

// The average falls like L^{-c(σ)}, which it approaches slowly.
TEST(QueryAverage, FallsWithTheAveragedExponent) {
  const Matrix identity = Matrix::Identity(1, 1);
  for (const double sigma : {0.5, 1.0, 1.5}) {
    auto log_error = [&](double L) {
      return std::log(
          averaged_attention_error(identity, sigma * identity, identity, Vector::Zero(1), identity, L)
              .output.value);
    };
    const double slope = (log_error(1e20) - log_error(1e40)) / std::log(1e20);
    EXPECT_NEAR(slope, averaged_exponent(sigma), 0.02) << sigma;
  }
}

// Gaussian queries on a line, given as rows with the weights of the trapezoidal rule: some 300 rows, one of
// them without scores.
TEST(QueryAverage, OverRowsAsAQuadrature) {
  constexpr double kStep = 1.0 / 16;
  const Problem problem = random_problem(3, 2, 1, 40, 0);
  const auto count = static_cast<Eigen::Index>(2 * kEnd / kStep) + 1;
  Matrix rows(count, 2);
  Vector weights(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const double x = -kEnd + kStep * static_cast<double>(i);
    rows.row(i) = x * problem.root.col(0).transpose();
    weights[i] = std::exp(-0.5 * x * x);
  }
  const auto average = QueryAverage::over_rows(problem.covariance, problem.U, problem.V, rows, weights);
  const auto gaussian = QueryAverage::over_gaussian(problem.covariance, problem.U, problem.V, problem.mean,
                                                    problem.root * problem.root.transpose());
  for (const double scale : {0.0, 0.7, 1.5}) {
    for (const double L : {1.0, 5.0, 1e4}) {
      const AveragedAttentionError a = average(L, scale), b = gaussian(L, scale);
      const auto expect = [&](const Estimate& x, const Estimate& y, const char* name) {
        EXPECT_NEAR(x.value, y.value, 1e-9 * y.value) << name << ", scale " << scale << ", L = " << L;
      };
      expect(a.output, b.output, "output");
      expect(a.squared_bias, b.squared_bias, "squared_bias");
      expect(a.gradient_V, b.gradient_V, "gradient_V");
      expect(a.gradient_U, b.gradient_U, "gradient_U");
      expect(a.softmax_linear, b.softmax_linear, "softmax_linear");
      expect(a.limit, b.limit, "limit");
    }
  }
}

// Each scale of the tokens has nodes of its own. The reference is an average over rows on the circle.
TEST(QueryAverage, OverACircle) {
  const Problem problem = random_problem(3, 2, 2, 44, 0);
  const auto average = QueryAverage::over_sphere(problem.covariance, problem.U, problem.V, 1.3);
  constexpr int kRows = 400;
  Matrix rows(kRows, 2);
  for (int i = 0; i < kRows; ++i) {
    const double angle = 2 * std::acos(-1.0) * i / kRows;
    rows.row(i) << 1.3 * std::cos(angle), 1.3 * std::sin(angle);
  }
  for (const double scale : {0.0, 0.5, 3.0}) {
    const auto truth = QueryAverage::over_rows(problem.covariance, problem.U, problem.V, rows,
                                               Vector::Ones(kRows))(100, scale);
    const AveragedAttentionError got = average(100, scale);
    EXPECT_NEAR(got.output.value, truth.output.value, 1e-9 * truth.output.value);
    EXPECT_NEAR(got.gradient_U.value, truth.gradient_U.value, 1e-9 * truth.gradient_U.value);
    EXPECT_NEAR(got.softmax_linear.value, truth.softmax_linear.value, 1e-9 * truth.softmax_linear.value);
    EXPECT_NEAR(got.self_check, 0, 1e-12);
  }
}

TEST(QueryAverage, RefusesWhatLeavesTheRangeOfNumbers) {
  const Matrix identity = Matrix::Identity(2, 2), U = Vector::LinSpaced(2, 1, 2).asDiagonal();
  const auto sphere = QueryAverage::over_sphere(identity, U, identity, 1);
  EXPECT_GT(sphere(10, 100).output.value, 0);
  for (const double scale : {200.0, 1e8, 1e9, 1e300}) {
    EXPECT_THROW(sphere(10, scale), InputError) << scale;
    EXPECT_THROW(sphere(10, scale), InputError) << scale << ", again";
  }
  EXPECT_THROW(QueryAverage::over_sphere(identity, U, 1e-170 * identity, 1), InputError);
  EXPECT_EQ(QueryAverage::over_sphere(identity, U, 0 * identity, 1)(10).output.value, 0);
}

// In 60 dimensions one node takes a second; on a sphere, all nodes together do.
TEST(QueryAverage, Stops) {
  const Eigen::Index d = 60;
  const Matrix identity = Matrix::Identity(d, d), U = Vector::LinSpaced(d, 0.1, 0.3).asDiagonal();
  const std::atomic<bool> stop = true;
  const Execution stopped{.stop = &stop};
  const auto gaussian = QueryAverage::over_gaussian(identity, U, identity, Vector::Zero(d), identity);
  const auto sphere = QueryAverage::over_sphere(identity, U, identity, 1);
  EXPECT_THROW(gaussian(10, 1, stopped), Stopped);
  EXPECT_THROW(sphere(10, 1, stopped), Stopped);
}

// A query along a direction of hardly any variance has scores like any other.
TEST(QueryAverage, AlongSmallVariances) {
  const Matrix identity = Matrix::Identity(2, 2);
  const Matrix covariance = Vector{{1, 1e-14}}.asDiagonal();
  const Matrix query{{0, 1e7}};
  const auto average = QueryAverage::over_rows(covariance, identity, identity, query, Vector::Ones(1));
  const SoftmaxStatistics m = softmax_statistics(1, 8);
  EXPECT_NEAR(average(8).output.value, m.P2 * (1 + 1e-14) + 1e-14 * (m.P2 - 6 * m.P3 + 6 * m.P2P2), 1e-12);
}

TEST(QueryAverage, SpecialCases) {
  const Matrix identity = Matrix::Identity(2, 2);
  const Matrix none = Matrix::Zero(2, 2);
  const Vector z = (Vector(2) << 0.5, -1).finished();
  // One query only.
  const AveragedAttentionError fixed = averaged_attention_error(identity, identity, identity, z, none, 20);
  Averages at;
  at.add(1, gaussian_attention_error(identity, identity, identity, z, 20));
  expect_equal(fixed, at, 1e-10);
  // All scores are equal, and only |z|² is left.
  const AveragedAttentionError flat = averaged_attention_error(identity, none, identity, z, 3 * identity, 20);
  const AttentionError at_z = gaussian_attention_error(identity, none, identity, z, 20);
  EXPECT_NEAR(flat.output.value, at_z.output.value, 1e-12);
  EXPECT_EQ(flat.squared_bias.value, 0);
  EXPECT_NEAR(flat.gradient_U.value, at_z.gradient_U.value / z.squaredNorm() * (z.squaredNorm() + 6), 1e-12);
  // The limit, and tokens that are all equal.
  EXPECT_EQ(averaged_attention_error(identity, identity, identity, z, identity,
                                     std::numeric_limits<double>::infinity())
                .output.value,
            0);
  EXPECT_EQ(averaged_attention_error(none, identity, identity, z, identity, 5).gradient_U.value, 0);
  // One token: A = g_1, so E‖T - limit‖² = 2 + |z|² on average.
  EXPECT_NEAR(averaged_attention_error(identity, identity, identity, 0 * z, identity, 1).output.value, 4,
              1e-9);
}

TEST(QueryAverage, RefusesBadInput) {
  const Matrix identity = Matrix::Identity(2, 2);
  const Vector z = Vector::Ones(2);
  auto average = [&](const Matrix& covariance, const Matrix& U, const Matrix& V, const Vector& mean,
                     const Matrix& queries,
                     double L) { return averaged_attention_error(covariance, U, V, mean, queries, L); };
  EXPECT_THROW(average(identity, Matrix::Identity(3, 2), identity, z, identity, 2), InputError);
  EXPECT_THROW(average(identity, identity, Matrix::Ones(1, 3), z, identity, 2), InputError);
  EXPECT_THROW(average(-identity, identity, identity, z, identity, 2), InputError);
  EXPECT_THROW(average(identity, identity, identity, z, -identity, 2), InputError);
  EXPECT_THROW(average(identity, identity, identity, Vector::Ones(3), identity, 2), InputError);
  EXPECT_THROW(average(identity, identity, identity, z, identity, 0.5), InputError);
  EXPECT_THROW(average(identity, 1e9 * identity, identity, z, identity, 2), InputError);
  EXPECT_THROW(average(identity, identity, identity, std::nan("") * z, identity, 2), InputError);
  EXPECT_THROW(average(identity, identity, identity, 1e6 * z, identity, 2), InputError);
  EXPECT_THROW(average(identity, identity, 1e160 * identity, z, identity, 2), InputError);
}

}  // namespace
}  // namespace largo::query_average_test
