// Score laws against the tilts of the same law, by a quadrature written for this test (composite
// Gauss-Legendre, in the angle for bounded shapes), and against samples of its tokens.
#include <cmath>
#include <functional>
#include <numbers>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"
#include "measures/catalogue.hpp"
#include "support/gauss_panels.hpp"

namespace largo::score_law_test {
namespace {

using test::Case;

constexpr double kWeights = 1e-13;     // rounding of up to some hundred weights
constexpr double kClosedForm = 1e-12;  // promised by sphere_functions.hpp
constexpr double kTilt = 1e-10;        // the project's bar
constexpr double kMaxZ = 4;            // two-sided false-alarm rate 6.3e-5 for each of about 200 comparisons
constexpr std::int64_t kTokens = 200000;
constexpr double kRounding = 1e-11;  // error of an average of kTokens equal numbers

// With two or more continuous coordinates scores are convolutions, unless the direction ignores all but one.
bool is_convolution(const Case& law) {
  return std::set<std::string>{"Uniform", "TruncatedLaplace", "MixedProduct"}.contains(law.name);
}

std::vector<Vector> covered_directions(const Case& entry) {
  if (!is_convolution(entry)) return test::directions(*entry.law);
  const std::ptrdiff_t d = entry.law->dimension();
  return {Vector::Zero(d), 0.7 * Vector::Unit(d, 0), -1.5 * Vector::Unit(d, d - 1)};
}

constexpr auto panels = test::gauss_panels<30>;

// E[f(v)], where v is the standard variable of the component.
double expectation(const ScoreComponent& law, const std::function<double(double)>& f) {
  if (law.shape == ScoreShape::atom) return f(0);
  if (law.shape == ScoreShape::gaussian) {
    const auto integrand = [&](double g) { return std::exp(-g * g / 2) * f(g); };
    return panels(-12, 2 * law.scale + 12, 40, integrand) / std::sqrt(2 * std::numbers::pi);
  }
  const auto density = [&](double angle) {
    return std::pow(std::sin(angle), law.order - 2) * std::exp(law.rate * std::cos(angle));
  };
  const auto integrand = [&](double angle) { return density(angle) * f(std::cos(angle)); };
  return panels(0, std::numbers::pi, 20, integrand) / panels(0, std::numbers::pi, 20, density);
}

struct Sums {
  double mass = 0;
  Vector mean;
  Matrix second;
};

// E[(1, z, zzᵀ) h(u)]
Sums moments(const ScoreLaw& law, std::ptrdiff_t d, const std::function<double(double)>& h) {
  Sums sums{0, Vector::Zero(d), Matrix::Zero(d, d)};
  for (const ScoreComponent& part : law.components) {
    const auto weighted = [&](const std::function<double(double)>& f) {
      return part.weight *
             expectation(part, [&](double v) { return f(v) * h(part.centre + part.scale * v); });
    };
    const double m0 = weighted([](double) { return 1.0; });
    const double m1 = weighted([](double v) { return v; });
    const double m2 = weighted([](double v) { return v * v; });
    const Vector slope = part.slope.size() > 0 ? part.slope : Vector::Zero(d);
    sums.mass += m0;
    sums.mean += m0 * part.mean + m1 * slope;
    sums.second += m0 * part.mean * part.mean.transpose() + m2 * slope * slope.transpose() +
                   m1 * (part.mean * slope.transpose() + slope * part.mean.transpose());
    if (part.covariance < 0) continue;
    sums.second += (part.constant_part * m0 + part.round_part * (m0 - m2)) *
                   law.covariances.at(static_cast<std::size_t>(part.covariance));
  }
  return sums;
}

class ScoreLaws : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Laws, ScoreLaws, ::testing::ValuesIn(test::catalogue()), test::case_name);

TEST_P(ScoreLaws, TiltsAreThoseOfTheLaw) {
  const Case& entry = GetParam();
  const std::ptrdiff_t d = entry.law->dimension();
  const double spread = std::sqrt(entry.law->covariance().trace());
  for (const Vector& a : covered_directions(entry)) {
    SCOPED_TRACE(::testing::Message() << "direction " << a.transpose());
    const ScoreLaw law = entry.law->score_law(a);
    double weights = 0;
    for (const ScoreComponent& part : law.components) weights += part.weight;
    EXPECT_NEAR(weights, 1, kWeights);

    const Tilt tilt = entry.law->tilt(a, TiltOrder::covariance);
    const Sums sums = moments(law, d, [&](double u) { return std::exp(u - tilt.log_partition); });
    EXPECT_NEAR(sums.mass, 1, kTilt);
    const Vector mean = sums.mean / sums.mass;
    EXPECT_LE((mean - tilt.mean).norm(), kTilt * std::max(spread, tilt.mean.norm()));
    // Moments are about the origin, from which the tokens of the empirical cases are far.
    const Matrix second = tilt.covariance + tilt.mean * tilt.mean.transpose();
    EXPECT_LE((sums.second / sums.mass - second).norm(), kTilt * second.norm());
  }
}

TEST_P(ScoreLaws, ComponentsKnowTheirTilt) {
  const Case& entry = GetParam();
  for (const Vector& a : covered_directions(entry)) {
    for (const ScoreComponent& part : entry.law->score_law(a).components) {
      const auto tilted = [&](double v) { return std::exp(part.scale * v); };
      const double mass = expectation(part, tilted);
      const double mean = expectation(part, [&](double v) { return v * tilted(v); }) / mass;
      EXPECT_NEAR(part.log_partition(), part.centre + std::log(mass),
                  kClosedForm * std::max(1.0, std::abs(part.log_partition())));
      EXPECT_NEAR(part.tilted_mean(), mean, kClosedForm * std::max(1.0, std::abs(mean)));
    }
  }
}

TEST_P(ScoreLaws, AgreeWithSamples) {
  const Case& entry = GetParam();
  const std::ptrdiff_t d = entry.law->dimension();
  const Vector a =
      is_convolution(entry) ? covered_directions(entry)[1] : Vector(test::random_matrix(61, d, 1));
  const double log_partition = entry.law->log_partition(a);
  const auto laplace = [&](double u) { return std::exp(-std::exp(u - log_partition)); };
  const Sums exact = moments(entry.law->score_law(a), d, laplace);

  const RowMatrix tokens = sample_prompt(*entry.law, Stream(21, 4), kTokens);
  const Vector weights = (tokens * a).unaryExpr(laplace);
  const auto expect_average = [&](const Vector& values, double expected) {
    const double average = values.mean();
    const double error = std::sqrt((values.array() - average).square().mean() / static_cast<double>(kTokens));
    EXPECT_LE(std::abs(average - expected), kMaxZ * error + kRounding * std::abs(expected));
  };
  expect_average(weights, exact.mass);
  for (std::ptrdiff_t j = 0; j < d; ++j) {
    SCOPED_TRACE(::testing::Message() << "coordinate " << j);
    expect_average(weights.cwiseProduct(tokens.col(j)), exact.mean[j]);
    expect_average(weights.cwiseProduct(tokens.col(j).cwiseAbs2()), exact.second(j, j));
  }
  expect_average(weights.cwiseProduct(tokens.rowwise().squaredNorm()), exact.second.trace());
}

TEST(ScoreLaw, DirectionWithoutVariance) {
  const GaussianMeasure flat(Vector{{1, 2}}, Matrix{{3, 0}, {0, 0}});
  const ScoreLaw law = flat.score_law(Vector{{0, 4}});
  ASSERT_EQ(law.components.size(), 1U);
  EXPECT_EQ(law.components[0].shape, ScoreShape::atom);
  EXPECT_EQ(law.components[0].centre, 8);
  EXPECT_EQ(law.covariances.at(0), flat.covariance());
}

void expect_no_score_law(const Measure& law, const Vector& direction, const std::string& word) {
  try {
    law.score_law(direction);
    ADD_FAILURE() << "no error";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

class OwnLaw final : public Measure {
 public:
  OwnLaw() : Measure(1) {}
  double log_partition(const ConstVectorRef& direction) const override { return direction.squaredNorm() / 2; }
};

TEST(ScoreLaw, WhatHasNoneSaysSo) {
  expect_no_score_law(OwnLaw(), Vector{{1}}, "sample prompts");
  expect_no_score_law(ProductMeasure(2, uniform()), Vector{{1, 1}}, "convolution");
  expect_no_score_law(ProductMeasure(17, rademacher()), Vector::Ones(17), "65536");
  EXPECT_EQ(ProductMeasure(16, rademacher()).score_law(Vector::Ones(16)).components.size(), 65536U);
  expect_no_score_law(SphereMeasure(2, 1), Vector{{1}}, "direction");
  expect_no_score_law(SphereMeasure(2, 1), Vector{{1, NAN}}, "direction");
  expect_no_score_law(GaussianMeasure::standard(2), Vector{{1e200, 1e200}}, "overflow");
  // A component of weight zero is not asked for its score law.
  const MixtureMeasure mixture(Vector{{1, 0}},
                               {std::make_shared<SphereMeasure>(1, 1), std::make_shared<OwnLaw>()});
  EXPECT_EQ(mixture.score_law(Vector{{1}}).components.size(), 2U);
}

}  // namespace
}  // namespace largo::score_law_test
