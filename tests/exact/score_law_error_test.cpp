// The exact output error against computations that share nothing with it: enumeration of all prompts,
// binomial sums, direct quadrature over two tokens, the closed form for Gaussians with tabulated moments, the
// limit of large L in terms of tilts, and simulated prompts.
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "largo/exact/score_law_error.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "support/all_prompts.hpp"
#include "support/gauss_panels.hpp"
#include "support/random_matrices.hpp"
#include "support/sampled_output.hpp"
#include "support/scored_laws.hpp"

namespace largo::score_law_error_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Relative tolerances, each with its reason.
constexpr double kTabulated = 1e-11;   // the table has 13 digits, of which the formula loses one
constexpr double kEnumerated = 1e-12;  // sums of up to 729 terms, and the project's bar
constexpr double kQuadrature = 1e-10;  // error of the two-dimensional reference
constexpr double kAsymptotic = 1e-12;  // error of the tilts; the next order in 1/L is below 1e-15
constexpr double kMaxZ = 4;            // two-sided false-alarm rate 6.3e-5 for each of 20 comparisons
constexpr std::int64_t kPrompts = 200000;

constexpr test::RandomMatrices normals(31);

Matrix random_covariance(std::uint64_t id, std::ptrdiff_t d) {
  const Matrix root = normals(d, d, id) / std::sqrt(static_cast<double>(d));
  return root * root.transpose();
}

struct Expected {
  double mse;
  Vector bias;
};

void expect_error(const OutputError& actual, const Expected& expected, double tolerance) {
  EXPECT_NEAR(actual.mse, expected.mse, tolerance * expected.mse);
  EXPECT_LE((actual.bias - expected.bias).norm(), tolerance * std::sqrt(expected.mse));
  EXPECT_LE(actual.error, tolerance * expected.mse);  // the estimate is not a loose one
}

// Softmax attention over tokens, one per row.
Vector attend(const RowMatrix& tokens, const Matrix& V, const Vector& a) {
  const Vector scores = tokens * a;
  const Vector weights = (scores.array() - scores.maxCoeff()).exp();
  return V * (tokens.transpose() * weights) / weights.sum();
}

TEST(ScoreLawError, GaussianWithTabulatedMoments) {
  struct Row {
    double s, L, p, p3, q;  // E[P2], E[P3], E[P2²]
  };
  const Matrix gamma = random_covariance(1, 3);
  const GaussianMeasure law(normals(3, 1, 2), gamma);
  for (const std::ptrdiff_t outputs : {1, 2, 7}) {  // fewer and more than a component has directions
    const Matrix V = normals(outputs, 3, 3);
    for (const Row& row : {Row{0.5, 8, 1.528459884241e-01, 2.795282094729e-02, 2.369892089061e-02},
                           Row{2, 1e4, 4.507451445755e-03, 2.885422841096e-04, 7.680232016192e-05},
                           Row{6, 1e12, 2.125498090828e-02, 8.042446695597e-03, 4.743338805281e-03}}) {
      Vector a = normals(3, 1, 4);
      a *= row.s / std::sqrt(a.dot(gamma * a));
      const Vector shift = V * gamma * a;
      const double mse = row.p * (V * gamma * V.transpose()).trace() +
                         shift.squaredNorm() * (row.p - 6 * row.p3 + 6 * row.q);
      expect_error(score_law_error(law, V, a, row.L), {mse, -row.p * shift}, kTabulated);
    }
  }
}

TEST(ScoreLawError, AllPromptsOfThreePoints) {
  const RowMatrix points = normals(3, 2, 5);
  const Vector weights{{0.5, 0.2, 0.3}};
  const EmpiricalMeasure law(points, weights);
  const Matrix V = normals(2, 2, 6);
  for (const double scale : {0.1, 1.0, 5.0}) {
    const Vector a = scale * normals(2, 1, 7);
    const Vector limit = V * law.tilt(a, TiltOrder::mean).mean;
    for (int L = 1; L <= 6; ++L) {
      SCOPED_TRACE(::testing::Message() << "scale " << scale << ", L = " << L);
      Expected expected{0, Vector::Zero(2)};
      test::for_all_prompts(points, weights, L, [&](const RowMatrix& tokens, double probability) {
        const Vector x = attend(tokens, V, a) - limit;
        expected.mse += probability * x.squaredNorm();
        expected.bias += probability * x;
      });
      expect_error(score_law_error(law, V, a, L), expected, kEnumerated);
    }
  }
}

// If k of L tokens are +1, T = 1 - 2 / (1 + k/(L-k) e^{2a}), and the limit is tanh a. Distances from 1 keep
// their digits where all of the weight is at 1.
TEST(ScoreLawError, RademacherIsABinomialSum) {
  const ProductMeasure law(1, rademacher());
  for (const double a : {0.3, 3.0, 20.0}) {
    for (const double L : {1.0, 2.0, 7.0, 40.0, 1000.0}) {
      SCOPED_TRACE(::testing::Message() << "a = " << a << ", L = " << L);
      Expected expected{0, Vector::Zero(1)};
      const double limit_below_one = 2 / (1 + std::exp(2 * a));
      for (double k = 0; k <= L; ++k) {
        const double log_probability =
            std::lgamma(L + 1) - std::lgamma(k + 1) - std::lgamma(L - k + 1) - L * std::numbers::ln2;
        const double below_one = k == 0 ? 2 : 2 * (L - k) / ((L - k) + k * std::exp(2 * a));
        const double x = limit_below_one - below_one;
        expected.mse += std::exp(log_probability) * x * x;
        expected.bias[0] += std::exp(log_probability) * x;
      }
      expect_error(score_law_error(law, Matrix::Identity(1, 1), Vector{{a}}, L), expected, kEnumerated);
    }
  }
}

constexpr auto panels = test::gauss_panels<20>;

// The scores of two tokens are uniform, and given them the part orthogonal to a is known.
TEST(ScoreLawError, TwoTokensOfASphere) {
  const double radius = 1.5;
  const SphereMeasure law(3, radius);
  const Matrix V = normals(2, 3, 8);
  for (const double norm : {0.5, 2.0, 6.0}) {
    const Vector unit = normals(3, 1, 9).normalized();
    const double mean = 1 / std::tanh(radius * norm) - 1 / (radius * norm);  // mean of v under the tilt
    const double along = (V * unit).squaredNorm() * radius * radius;
    const double across = V.squaredNorm() * radius * radius - along;
    const auto average = [&](const std::function<double(double, double, double)>& f) {
      return panels(-1, 1, 4, [&](double v) {
        return panels(-1, 1, 4,
                      [&](double w) { return f(v, w, 1 / (1 + std::exp(radius * norm * (w - v)))) / 4; });
      });
    };
    const double mse = average([&](double v, double w, double p) {
      const double x = p * v + (1 - p) * w - mean;
      return along * x * x + across / 2 * (p * p * (1 - v * v) + (1 - p) * (1 - p) * (1 - w * w));
    });
    const double bias = average([&](double v, double w, double p) { return p * v + (1 - p) * w - mean; });
    expect_error(score_law_error(law, V, norm * unit, 2), {mse, bias * radius * V * unit}, kQuadrature);
  }
}

// The tilted mass of a wide Gaussian, far out of reach of the prompt, shares the limit with a point.
TEST(ScoreLawError, TiltOutOfReach) {
  const double a = 30;
  const double at = 455 / a;  // the point has score 455; the Gaussian's log-partition is 450
  const auto point = std::make_shared<GaussianMeasure>(Vector{{at}}, Matrix::Zero(1, 1));
  const auto wide = std::make_shared<GaussianMeasure>(GaussianMeasure::standard(1));
  const MixtureMeasure law(Vector{{1, 1}}, {point, wide});
  const double share = 1 / (1 + std::exp(5.0));
  const double limit = (1 - share) * at + share * a;
  const auto density = [](double g) { return std::exp(-g * g / 2) / std::sqrt(2 * std::numbers::pi); };
  const auto both = [&](double g, double h) {
    const double p = 1 / (1 + std::exp(a * (h - g)));
    return p * g + (1 - p) * h - limit;
  };
  double mse = (at - limit) * (at - limit) / 4;
  mse += panels(-9, 9, 40, [&](double g) { return std::pow(both(at, g), 2) * density(g); }) / 2;
  // The variables are the difference, which is sharp at zero, and the half-sum.
  mse += 2 *
         panels(0, 13, 80,
                [&](double gap) {
                  return panels(-9, 9, 10, [&](double middle) {
                    const double g = middle + gap / 2;
                    const double h = middle - gap / 2;
                    return std::pow(both(g, h), 2) * density(g) * density(h);
                  });
                }) /
         4;
  const OutputError actual = score_law_error(law, Matrix::Identity(1, 1), Vector{{a}}, 2);
  EXPECT_NEAR(actual.mse, mse, kQuadrature * mse);
}

struct LawErrors : test::OfScoredLaw {
  LawErrors() : OfScoredLaw(normals, 16) {}
};
INSTANTIATE_TEST_SUITE_P(Laws, LawErrors, ::testing::ValuesIn(test::scored_laws()), test::name_of_law);

TEST_P(LawErrors, OneToken) {
  const Vector shift = V * (law().mean() - law().tilt(a, TiltOrder::mean).mean);
  const double mse = (V * law().covariance() * V.transpose()).trace() + shift.squaredNorm();
  expect_error(score_law_error(law(), V, a, 1), {mse, shift}, kEnumerated);
}

TEST_P(LawErrors, EqualScores) {
  const double variance = (V * law().covariance() * V.transpose()).trace();
  for (const double L : {1.0, 1.5, 2.0, 10.0, 1e10, 1e300}) {
    expect_error(score_law_error(law(), V, Vector::Zero(3), L), {variance / L, Vector::Zero(2)}, kEnumerated);
  }
}

// L mse -> E[‖x‖² e^{2u}] / E[e^u]², and L bias -> -E[x e^{2u}] / E[e^u]².
TEST_P(LawErrors, LongPrompts) {
  const Tilt once = law().tilt(a, TiltOrder::covariance);
  const Tilt twice = law().tilt(2 * a, TiltOrder::covariance);
  const double factor = std::exp(twice.log_partition - 2 * once.log_partition);
  const Vector shift = V * (twice.mean - once.mean);
  const double square = (V * twice.covariance * V.transpose()).trace() + shift.squaredNorm();
  for (const double L : {1e40, 1e120, 1e300}) {
    expect_error(score_law_error(law(), V, a, L), {factor / L * square, -factor / L * shift}, kAsymptotic);
  }
  const OutputError limit = score_law_error(law(), V, a, kInfinity);
  EXPECT_EQ(limit.mse, 0);
  EXPECT_EQ(limit.error, 0);
  EXPECT_EQ(limit.bias, Vector::Zero(2));
}

TEST_P(LawErrors, TranslationsChangeNothing) {
  const AffineMeasure moved = AffineMeasure::translation(Vector{{1e3, -2e3, 1e3}}, GetParam().law);
  const OutputError here = score_law_error(law(), V, a, 50);
  const OutputError there = score_law_error(moved, V, a, 50);
  EXPECT_NEAR(there.mse, here.mse, 1e-10 * here.mse);  // the offset costs tokens and scores three digits
}

TEST_P(LawErrors, SimulatedPrompts) {
  constexpr std::int64_t kLength = 8;
  const Vector limit = V * law().tilt(a, TiltOrder::mean).mean;
  const OutputError exact = score_law_error(law(), V, a, kLength);
  test::SampledOutput sampled;
  RowMatrix tokens(kLength, 3);
  for (std::int64_t i = 0; i < kPrompts; ++i) {
    law().sample(Stream(41, 1), static_cast<std::uint64_t>(i * kLength), tokens);
    sampled.add(attend(tokens, V, a) - limit);
  }
  sampled.expect(exact, kMaxZ);
}

TEST(ScoreLawError, PointMass) {
  const GaussianMeasure law(Vector{{1, 2}}, Matrix::Zero(2, 2));
  const OutputError error = score_law_error(law, Matrix::Identity(2, 2), Vector{{3, 4}}, 10);
  EXPECT_EQ(error.mse, 0);
  EXPECT_EQ(error.bias, Vector::Zero(2));
}

// Where a Laplace law is cut off far out makes no difference except in rounding, which the error covers.
TEST(ScoreLawError, OfADensityThatFallsOffSteeply) {
  const Matrix V = Matrix::Identity(1, 1);
  const Vector a = Vector::Ones(1);
  const auto error_at = [&](double scale, double bound) {
    return score_law_error(ProductMeasure(1, truncated_laplace(scale, bound)), V, a, 10);
  };
  for (const double scale : {1e-2, 1e-4}) {
    const OutputError near = error_at(scale, 100 * scale);
    for (const double bound : {1.0, 10.0, 90.0}) {
      const OutputError far = error_at(scale, bound);
      EXPECT_NEAR(far.mse, near.mse, far.error + near.error) << scale << " " << bound;
      EXPECT_LE(far.error, 1e-9 * far.mse);
    }
  }
  // Beyond the limits the law is refused for the true reason, and not computed for hours.
  for (const auto& [scale, bound, word] :
       {std::tuple(1e-5, 1e5, "half-width of the range of a score is 50000"),
        std::tuple(1e-12, 1.0, "density falls off")}) {
    const ProductMeasure law(1, truncated_laplace(scale, bound));
    const auto beyond = beyond_limits(law.score_law(a));
    ASSERT_TRUE(beyond);
    EXPECT_NE(beyond->find(word), std::string::npos) << *beyond;
    EXPECT_THROW(score_law_error(law, V, a, 10), InputError);
  }
}

TEST(ScoreLawError, BadInput) {
  const GaussianMeasure law = GaussianMeasure::standard(2);
  const Matrix V = Matrix::Identity(2, 2);
  const Vector a{{1, 0}};
  const auto expect_mistake = [](const std::function<void()>& call, const std::string& word) {
    try {
      call();
      ADD_FAILURE() << "no error: " << word;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  for (const double L : {0.5, 0.0, -1.0, 1e301, -kInfinity, std::nan("")}) {
    expect_mistake([&] { score_law_error(law, V, a, L); }, "length");
  }
  expect_mistake([&] { score_law_error(law, Matrix::Identity(2, 3), a, 10); }, "value map");
  expect_mistake([&] { score_law_error(law, V * std::nan(""), a, 10); }, "value map");
  expect_mistake([&] { score_law_error(law, V * 1e200, a, 10); }, "overflow");
  expect_mistake([&] { score_law_error(law, V, Vector{{1, 0, 0}}, 10); }, "direction");
  expect_mistake([&] { score_law_error(law, V, Vector{{kInfinity, 0}}, 10); }, "direction");
  expect_mistake([&] { score_law_error(law, V, 31 * a, 10); }, "standard deviation");
  expect_mistake([&] { score_law_error(SphereMeasure(2, 1), V, 50 * a, 10); }, "half-width");
  const EmpiricalMeasure far(RowMatrix{{0, 0}, {2e4, 0}});
  expect_mistake([&] { score_law_error(far, V, a, 10); }, "range");
  expect_mistake([&] { score_law_error(ProductMeasure(2, uniform()), V, Vector{{1, 1}}, 10); }, "sample");
}

}  // namespace
}  // namespace largo::score_law_error_test
