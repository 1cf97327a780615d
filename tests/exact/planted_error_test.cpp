// Errors of prompts that hold planted tokens beside their crowd, against computations that share nothing with
// them: enumeration of all prompts, binomial sums, limits in terms of tilts, and simulated prompts.
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "largo/exact/score_law_error.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "support/all_prompts.hpp"
#include "support/gauss_panels.hpp"
#include "support/random_matrices.hpp"
#include "support/sampled_output.hpp"
#include "support/scored_laws.hpp"

namespace largo::planted_error_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Relative tolerances, each with its reason.
constexpr double kEnumerated = 1e-12;  // sums of up to 1000 terms, and the project's bar
constexpr double kQuadrature = 1e-12;  // error of the panels
constexpr double kReference = 2e-14;   // rounding of these references, which error estimates do not cover
constexpr double kMaxZ = 4;            // two-sided false-alarm rate 6.3e-5 for each of 36 comparisons
constexpr std::int64_t kPrompts = 200000;
constexpr test::RandomMatrices kNormals(53);

struct Expected {
  double mse = 0;
  Vector bias;
};

void expect_error(const OutputError& actual, const Expected& expected, double tolerance,
                  double reference = kReference) {
  EXPECT_NEAR(actual.mse, expected.mse, tolerance * expected.mse);
  EXPECT_LE((actual.bias - expected.bias).norm(), tolerance * std::sqrt(expected.mse));
  EXPECT_LE(std::abs(actual.mse - expected.mse), actual.error + reference * expected.mse);
  EXPECT_LE(actual.error, tolerance * expected.mse);  // the estimate is not a loose one
}

// Softmax attention over tokens, one per row, and planted ones.
Vector attend(const RowMatrix& tokens, const Matrix& V, const Vector& a,
              const std::vector<PlantedValue>& planted) {
  const Vector scores = tokens * a;
  double top = scores.maxCoeff();
  for (const PlantedValue& token : planted) top = std::max(top, token.score);
  const Vector weights = (scores.array() - top).exp();
  Vector sum = V * (tokens.transpose() * weights);
  double S = weights.sum();
  for (const PlantedValue& token : planted) {
    const double weight = token.count * std::exp(token.score - top);
    sum += weight * token.value;
    S += weight;
  }
  return sum / S;
}

TEST(PlantedError, AllPromptsOfThreePoints) {
  const RowMatrix points = kNormals(3, 2, 5);
  const Vector weights{{0.5, 0.2, 0.3}};
  const EmpiricalMeasure law(points, weights);
  for (const std::ptrdiff_t outputs : {1, 2, 20}) {  // 20: more than there are directions
    const Matrix V = kNormals(outputs, 2, 6);
    for (const double scale : {0.1, 1.0, 5.0}) {
      const Vector a = scale * kNormals(2, 1, 7);
      const Vector limit = V * law.tilt(a, TiltOrder::mean).mean;
      const std::vector<std::vector<PlantedValue>> lists = {{{0.7, Vector::Zero(outputs)}},
                                                            {{-40, kNormals(outputs, 1, 8)}},
                                                            {{30, kNormals(outputs, 1, 9), 2.5},
                                                             {2, Vector::Zero(outputs)},
                                                             {-1, kNormals(outputs, 1, 10), 7}}};
      for (const auto& planted : lists) {
        for (int L = 1; L <= 5; ++L) {
          SCOPED_TRACE(::testing::Message() << outputs << " outputs, scale " << scale << ", "
                                            << planted.size() << " planted, L = " << L);
          Expected expected{0, Vector::Zero(outputs)};
          test::for_all_prompts(points, weights, L, [&](const RowMatrix& tokens, double probability) {
            const Vector x = attend(tokens, V, a, planted) - limit;
            expected.mse += probability * x.squaredNorm();
            expected.bias += probability * x;
          });
          expect_error(score_law_error(law.score_law(a), V, L, planted), expected, kEnumerated);
        }
      }
    }
  }
}

// Tokens ±1 with scores ±a beside a sink of score b and value y. The weight of the sink is far below, beside
// and far above that of the crowd.
TEST(PlantedError, RademacherIsABinomialSum) {
  const ProductMeasure law(1, rademacher());
  for (const double a : {0.3, 3.0}) {
    const double limit = std::tanh(a);
    for (const double b : {-60.0, 0.0, 6.0, 300.0}) {
      for (const double y : {0.0, -2.0}) {
        for (const double L : {1.0, 7.0, 1000.0}) {
          SCOPED_TRACE(::testing::Message() << "a = " << a << ", b = " << b << ", L = " << L);
          Expected expected{0, Vector::Zero(1)};
          for (double k = 0; k <= L; ++k) {
            const double log_probability =
                std::lgamma(L + 1) - std::lgamma(k + 1) - std::lgamma(L - k + 1) - L * std::numbers::ln2;
            // All weights relative to that of a token +1.
            const double minus = (L - k) * std::exp(-2 * a), sink = std::exp(b - a);
            const double x =
                (k * (1 - limit) - minus * (1 + limit) + sink * (y - limit)) / (k + minus + sink);
            expected.mse += std::exp(log_probability) * x * x;
            expected.bias[0] += std::exp(log_probability) * x;
          }
          const std::vector<PlantedValue> sink{{b, Vector{{y}}}};
          // Logarithms up to 6000 leave 12 digits to the probability, and x = 0 for the sink alone would
          // cancel.
          expect_error(score_law_error(law.score_law(Vector{{a}}), Matrix::Identity(1, 1), L, sink), expected,
                       1e-11, 1e-12);
        }
      }
    }
  }
}

// One standard Gaussian token of score s g beside a sink that has the value of the limit, T[μ] = s: then
// T - T[μ] = (g - s) / (1 + e^{b - s g}). Where s is large and the sink heavy, the mean square comes from
// tokens that no prompt holds, up to 37 deviations out.
TEST(PlantedError, BesideASinkThatHasAllOfTheWeight) {
  const GaussianMeasure law = GaussianMeasure::standard(1);
  for (const double s : {0.5, 2.0, 6.0, 10.0, kLargestDeviationBesidePlanted}) {
    for (const double b : {0.0, s * s / 2, s * s, 2 * s * s, 2 * s * s + 60}) {
      SCOPED_TRACE(::testing::Message() << "s = " << s << ", b = " << b);
      const double mse = test::gauss_panels<20>(-10, 40, 500, [&](double g) {
        const double u = s * g - b,
                     log_share = u > 0 ? -std::log1p(std::exp(-u)) : u - std::log1p(std::exp(u));
        return (g - s) * (g - s) * std::exp(2 * log_share - g * g / 2) / std::sqrt(2 * std::numbers::pi);
      });
      const std::vector<PlantedValue> sink{{b, Vector{{s}}}};
      const OutputError actual = score_law_error(law.score_law(Vector{{s}}), Matrix::Identity(1, 1), 1, sink);
      EXPECT_NEAR(actual.mse, mse, kQuadrature * mse);
      // That the value is that of the limit to the last digit is more than the estimate can know.
      const double rounding = 1e-15 * (1 + b) * s;
      EXPECT_LE(actual.error, kQuadrature * mse + 2 * rounding * std::sqrt(mse) + rounding * rounding);
    }
  }
}

// One token beside a needle of low score b and large value y: x = (g - s) / (1 + e^{b - s g}) + (y - s) / (1
// + e^{s g - b}), whose mean square comes from tokens with scores lower still, up to 2s deviations below the
// mean.
TEST(PlantedError, BesideALowNeedleOfLargeValue) {
  const GaussianMeasure law = GaussianMeasure::standard(1);
  struct Needle {
    double s, score, value;
  };
  constexpr Needle kNeedles[] = {{14, -112, 1e8}, {10, -90, 1e12}, {3, -60, 1e25}, {2, -30, 1e15},
                                 {4, -120, 1e60}, {5, -80, 1e40},  {1, -3, 10},    {14, -300, 1e100},
                                 {14, -600, 10}};  // the last begins where φ_0 is zero in float64
  for (const Needle& one : kNeedles) {
    const double s = one.s, b = one.score, y = one.value;
    SCOPED_TRACE(::testing::Message() << "s = " << s << ", b = " << b << ", y = " << y);
    const double mse = test::gauss_panels<20>(-40, 20, 1200, [&](double g) {
      const double u = s * g - b;
      const double crowd = 1 / (1 + std::exp(-u)), needle = 1 / (1 + std::exp(u));
      const double x = (g - s) * crowd + (y - s) * needle;
      return x * x * std::exp(-g * g / 2) / std::sqrt(2 * std::numbers::pi);
    });
    const std::vector<PlantedValue> needle{{b, Vector{{y}}}};
    const OutputError actual = score_law_error(law.score_law(Vector{{s}}), Matrix::Identity(1, 1), 1, needle);
    EXPECT_NEAR(actual.mse, mse, kQuadrature * mse);
    EXPECT_LE(std::abs(actual.mse - mse), actual.error + kReference * mse);
  }
}

// The same on a sphere, whose scores are bounded: a uniform score in [-a, a] in three dimensions.
TEST(PlantedError, BesideALowNeedleOnASphere) {
  const SphereMeasure law(3, 1);
  for (const double a : {1.0, 6.0, 20.0}) {
    const double limit = 1 / std::tanh(a) - 1 / a;
    for (const double b : {-a, -2 * a, 0.0}) {
      for (const double y : {2.0, 1e6, 1e12}) {
        SCOPED_TRACE(::testing::Message() << "a = " << a << ", b = " << b << ", y = " << y);
        const double mse = test::gauss_panels<20>(-1, 1, 400, [&](double v) {
          const double u = a * v - b;
          const double x = (v - limit) / (1 + std::exp(-u)) + (y - limit) / (1 + std::exp(u));
          return x * x / 2;
        });
        const std::vector<PlantedValue> needle{{b, Vector{{y}}}};
        const OutputError actual =
            score_law_error(law.score_law(Vector{{a, 0, 0}}), Matrix{{1, 0, 0}}, 1, needle);
        EXPECT_NEAR(actual.mse, mse, kEnumerated * mse);
      }
    }
  }
}

// A sphere of so many dimensions that its scores are nearly normal: most nodes are where the law has no mass.
TEST(PlantedError, BesideALowNeedleOnALargeSphere) {
  constexpr std::ptrdiff_t kDimension = 400;
  const SphereMeasure law(kDimension, 20);  // coordinates of variance one
  const auto density = [](double v) { return std::pow(1 - v * v, (kDimension - 3) / 2.0); };
  for (const double s : {2.0, 5.0}) {
    const double a = 20 * s;
    const auto average = [&](const std::function<double(double)>& f) {
      const auto weighted = [&](double v) { return f(v) * density(v); };
      return test::gauss_panels<20>(-1, 1, 400, weighted) / test::gauss_panels<20>(-1, 1, 400, density);
    };
    const double partition = average([&](double v) { return std::exp(a * v); });
    const double limit = 20 * average([&](double v) { return v * std::exp(a * v); }) / partition;
    const double b = -12 * s, y = 1e30;
    const double mse = average([&](double v) {
      const double u = a * v - b;
      const double x = (20 * v - limit) / (1 + std::exp(-u)) + (y - limit) / (1 + std::exp(u));
      return x * x;
    });
    Vector direction = Vector::Zero(kDimension);
    direction[0] = s;
    Matrix V = Matrix::Zero(1, kDimension);
    V(0, 0) = 1;
    const std::vector<PlantedValue> needle{{b, Vector{{y}}}};
    const OutputError actual = score_law_error(law.score_law(direction), V, 1, needle);
    EXPECT_NEAR(actual.mse, mse, 1e-11 * mse) << s;  // densities are powers, whose logarithms lose a digit
  }
}

// Values that cancel: the needle has the value of the limit up to δ, and the error is that of what is left.
TEST(PlantedError, SaysWhatCancels) {
  const ProductMeasure law(1, rademacher());
  const double a = 3, b = 60;
  for (const double delta : {0.0, 1e-14, 1e-10, 1e-7, 1e-3}) {
    const double value = std::tanh(a) + delta;
    const long double limit = std::tanh(static_cast<long double>(a));
    const long double x0 = static_cast<long double>(value) - limit;
    // One token ±1 has the weight e^{±a - b} of the needle's.
    long double mse = 0;
    for (const int sign : {-1, 1}) {
      const long double w = std::exp(static_cast<long double>(sign * a - b));
      const long double x = (x0 + w * (sign - limit)) / (1 + w);
      mse += x * x / 2;
    }
    const std::vector<PlantedValue> needle{{b, Vector{{value}}}};
    const OutputError actual = score_law_error(law.score_law(Vector{{a}}), Matrix::Identity(1, 1), 1, needle);
    EXPECT_LE(std::abs(static_cast<double>(actual.mse - mse)), actual.error) << delta;
    EXPECT_LE(actual.error, 1e-10 * static_cast<double>(mse) + 2e-13 * delta + 1e-26) << delta;
  }
}

// L (T - T[μ]) -> S_0 x_0 / E[e^u] in the mean, beside the bias of the crowd; and the variance of a long
// prompt does not see the sink.
TEST(PlantedError, LongPrompts) {
  for (const test::NamedLaw& entry : test::scored_laws()) {
    SCOPED_TRACE(entry.name);
    const Vector a = kNormals(3, 1, 17);
    const Matrix V = kNormals(2, 3, 16);
    const Tilt once = entry.law->tilt(a, TiltOrder::mean);
    const ScoreLaw law = entry.law->score_law(a);
    const std::vector<PlantedValue> sink{{3, kNormals(2, 1, 18)}};
    const double L = 1e30;
    const double alone = score_law_error(law, V, L).mse;
    EXPECT_NEAR(score_law_error(law, V, L, sink).mse, alone, 1e-12 * alone);
    // The bias is of the order 1/L; what is left out falls faster, if slowly where scores are large.
    const double shorter = 1e16;
    const Vector pull = std::exp(3 - once.log_partition) / shorter * (sink[0].value - V * once.mean);
    const Vector found = score_law_error(law, V, shorter, sink).bias - score_law_error(law, V, shorter).bias;
    EXPECT_LE((found - pull).norm(), 1e-4 * pull.norm());
    const OutputError infinite = score_law_error(law, V, kInfinity, sink);
    EXPECT_EQ(infinite.mse, 0);
    EXPECT_EQ(infinite.bias, Vector::Zero(2));
  }
}

TEST(PlantedError, SimulatedPrompts) {
  constexpr std::int64_t kLength = 8;
  for (const test::NamedLaw& entry : test::scored_laws()) {
    SCOPED_TRACE(entry.name);
    const Vector a = kNormals(3, 1, 17);
    const Matrix V = kNormals(2, 3, 16);
    const std::vector<PlantedValue> planted{{2, kNormals(2, 1, 18)}, {0, Vector::Zero(2), 3}};
    const Vector limit = V * entry.law->tilt(a, TiltOrder::mean).mean;
    const OutputError exact = score_law_error(entry.law->score_law(a), V, kLength, planted);
    test::SampledOutput sampled;
    RowMatrix tokens(kLength, 3);
    for (std::int64_t i = 0; i < kPrompts; ++i) {
      entry.law->sample(Stream(43, 1), static_cast<std::uint64_t>(i * kLength), tokens);
      sampled.add(attend(tokens, V, a, planted) - limit);
    }
    sampled.expect(exact, kMaxZ);
  }
}

TEST(PlantedError, BadInput) {
  const ScoreLaw law = GaussianMeasure::standard(2).score_law(Vector{{1, 0}});
  const Matrix V = Matrix::Identity(2, 2);
  const auto expect_mistake = [&](const PlantedValue& planted, const std::string& word) {
    try {
      score_law_error(law, V, 10, std::vector{planted});
      ADD_FAILURE() << "no error: " << word;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  expect_mistake({0, Vector::Zero(3)}, "value of a planted token");
  expect_mistake({0, Vector{{0, kInfinity}}}, "value of a planted token");
  expect_mistake({std::nan(""), Vector::Zero(2)}, "score of a planted token");
  expect_mistake({1e5, Vector::Zero(2)}, "distance of a planted score");
  expect_mistake({-1e5, Vector::Zero(2)}, "distance of a planted score");
  expect_mistake({0, Vector::Zero(2), 0.5}, "copies");
  expect_mistake({0, Vector::Zero(2), kInfinity}, "copies");
  // Values whose squares overflow, at several phases of the lattice in t.
  for (const double score : {0.0, 0.03, 0.06, 0.1, 0.15}) {
    expect_mistake({score, Vector{{0, 1e200}}}, "overflows");
    expect_mistake({score, Vector{{0, 1e148}}}, "overflows");
  }
  const ScoreLaw wide = GaussianMeasure::standard(2).score_law(Vector{{15, 0}});
  EXPECT_NO_THROW(score_law_error(wide, V, 10));
  EXPECT_THROW(score_law_error(wide, V, 10, std::vector<PlantedValue>{{0, Vector::Zero(2)}}), InputError);
}

}  // namespace
}  // namespace largo::planted_error_test
