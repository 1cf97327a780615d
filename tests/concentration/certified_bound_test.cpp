// Certified bounds against the errors themselves: exact where they are known, sampled elsewhere.
#include "largo/concentration/certified_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "concentration/layers.hpp"
#include "concentration/tilted_moments.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/runtime/check.hpp"

namespace largo::certified_bound_test {
namespace {

using test::random_matrix;
using test::random_vector;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

MeasurePtr product(std::ptrdiff_t d, const CoordinateLawPtr& law) {
  return std::make_shared<ProductMeasure>(d, law);
}
MeasurePtr gaussian(std::ptrdiff_t d, std::uint64_t id) {
  const Matrix root = random_matrix(d, d, id);
  return std::make_shared<GaussianMeasure>(random_vector(d, id + 1), root * root.transpose());
}

constexpr int kLaws = 13;
MeasurePtr token_law(int kind, std::ptrdiff_t d, std::uint64_t id) {
  switch (kind) {
    case 0:
    case 1: return gaussian(d, id);
    case 2:
      return std::make_shared<MixtureMeasure>(Vector{{0.3, 0.7}},
                                              std::vector<MeasurePtr>{gaussian(d, id), gaussian(d, id + 10)});
    case 3: return std::make_shared<SphereMeasure>(d, 1.5);
    case 4: return std::make_shared<BallMeasure>(d, 2);
    case 5: return product(d, rademacher());
    case 6: return product(d, three_point(2, 0.02));
    case 7: return product(d, truncated_laplace(0.6, 5));
    case 8: return product(d, uniform(1.2));
    case 9: return product(d, centred_bernoulli(0.1));
    case 10: return std::make_shared<EmpiricalMeasure>(RowMatrix(random_matrix(20, d, id)));
    case 11:
      return std::make_shared<AffineMeasure>(random_matrix(d, d + 1, id), random_vector(d, id + 1),
                                             product(d + 1, rademacher()));
    default:
      return std::make_shared<EllipticalMeasure>(Matrix::Identity(d, d), EllipticalBase::gaussian,
                                                 RadialLaw::discrete(Vector{{0.2, 2}}, Vector{{0.8, 0.2}}));
  }
}

double uniform_number(std::uint64_t id) {
  double u = 0;
  Stream(99, id).uniforms(0, {&u, 1});
  return u;
}

// The query, some queries, or a law of them that bounds are known for.
Queries some_queries(int kind, const MeasurePtr& tokens, std::ptrdiff_t d, std::uint64_t id) {
  if (kind == 0) return Vector(random_vector(d, id));
  if (kind == 1) return std::make_shared<EmpiricalMeasure>(RowMatrix(random_matrix(3, d, id)));
  const AttentionLayer trial{tokens, Matrix::Identity(d, d), Matrix::Identity(d, d),
                             test::standard_gaussian(d)};
  if (missing_bound(trial)) return Vector(random_vector(d, id));
  if (kind == 2) return MeasurePtr(std::make_shared<GaussianMeasure>(GaussianMeasure::standard(d)));
  if (kind == 3) return MeasurePtr(std::make_shared<SphereMeasure>(d, 1));
  if (has_gaussian_tokens(trial)) return Vector(random_vector(d, id));
  return product(d, uniform(1));
}

double log_rho(const AttentionLayer& layer) {
  const Vector a = layer.U * std::get<Vector>(layer.queries);
  return layer.tokens->log_partition(2 * a) - 2 * layer.tokens->log_partition(a);
}

struct Ratios {
  std::vector<double> output, gradient_V, gradient_U;
  static double median(std::vector<double>& values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
};

TEST(CertifiedBounds, AreAboveTheErrors) {
  constexpr int kSettings = 2000;
  constexpr double kLengths[] = {2, 3, 10, 50, 300, 1000, 1e4, 1e6, 1e12, 1e30};
  constexpr double kLongestSampled = 300, kStandardErrors = 5;
  Ratios ratios;  // where L is at least 100 ρ
  int exact = 0, sampled = 0;
  for (int i = 0; i < kSettings; ++i) {
    SCOPED_TRACE(i);
    const std::uint64_t id = 100 * static_cast<std::uint64_t>(i + 1);
    const std::ptrdiff_t d = std::vector<std::ptrdiff_t>{1, 2, 3, 6}[static_cast<std::size_t>(i / 13 % 4)];
    const MeasurePtr tokens = token_law(i % kLaws, d, id);
    // Laws of queries take longer.
    const int kind = i % 16 == 15 ? 2 + i / 16 % 3 : i % 16 < 10 ? 0 : 1;
    AttentionLayer layer{tokens, Matrix(), random_matrix(1 + i / 52 % 3, d, id + 50),
                         some_queries(kind, tokens, d, id + 60)};
    layer.U = std::pow(10, 1.3 * uniform_number(id) - 1) * random_matrix(d, d, id + 40);
    ConcentrationPlan plan;
    plan.exponents = false;
    plan.exact = !missing_formula(layer, 1);
    const double L = kLengths[static_cast<std::size_t>(10 * uniform_number(id + 1))];
    plan.lengths = {plan.exact ? L : std::min(L, kLongestSampled)};
    plan.sampled = !plan.exact || (!has_gaussian_tokens(layer) && L <= kLongestSampled);
    plan.sampling.samples = 200;
    const CertifiedErrors bound = CertifiedBounds(layer)(plan.lengths[0]);
    for (const ConcentrationRow& row : concentration_grid(layer, plan)) {
      const bool is_exact = row.method == ErrorMethod::exact;
      ++(is_exact ? exact : sampled);
      // A sample without the rare prompts is too low, so it never is too strict. Rounding: 1e-12.
      const auto least = [&](const ErrorBar& bar) {
        return bar.value - (is_exact ? 1 : kStandardErrors) * bar.error - 1e-12 * bar.value;
      };
      ASSERT_GE(bound.output, least(row.output));
      ASSERT_GE(bound.gradient_V, least(row.gradient_V));
      if (row.gradient_U) {
        ASSERT_GE(bound.gradient_U, least(*row.gradient_U));
      }
      const bool is_long =
          std::holds_alternative<Vector>(layer.queries) && std::log(row.L) >= std::log(100) + log_rho(layer);
      if (!is_long || !(row.output.value > 0)) continue;
      ratios.output.push_back(bound.output / row.output.value);
      ratios.gradient_V.push_back(bound.gradient_V / row.gradient_V.value);
      if (row.gradient_U && row.gradient_U->value > 0)
        ratios.gradient_U.push_back(bound.gradient_U / row.gradient_U->value);
    }
  }
  EXPECT_GT(exact, 900);
  EXPECT_GT(sampled, 300);
  EXPECT_LT(Ratios::median(ratios.output), 1.5);
  EXPECT_LT(Ratios::median(ratios.gradient_V), 1.5);
  EXPECT_LT(Ratios::median(ratios.gradient_U), 4);
  std::vector<double> all = ratios.output;
  all.insert(all.end(), ratios.gradient_V.begin(), ratios.gradient_V.end());
  all.insert(all.end(), ratios.gradient_U.begin(), ratios.gradient_U.end());
  EXPECT_LT(Ratios::median(all), 3);
  RecordProperty("output", std::to_string(Ratios::median(ratios.output)));
  RecordProperty("gradient_U", std::to_string(Ratios::median(ratios.gradient_U)));
}

// At L = 1 the prompt is one token, whatever the query: the error is E‖V(z' − mean(ν_a))‖².
TEST(CertifiedBounds, OneToken) {
  const AttentionLayer layer{product(2, rademacher()), Matrix{{1.5, 0}, {0, 0.5}}, Matrix::Identity(2, 2),
                             Vector{{1, 1}}};
  const Vector limit{{std::tanh(1.5), std::tanh(0.5)}};
  EXPECT_GE(CertifiedBounds(layer)(1).output, 2 + limit.squaredNorm());
  EXPECT_EQ(CertifiedBounds(layer)(kInfinity).output, 0);
}

// Where softmax has all but settled on one point, means differ by less than their rounding errors.
TEST(CertifiedBounds, AllowForRounding) {
  struct Case {
    MeasurePtr tokens;
    double query, V, L;
  };
  const MeasurePtr signs = product(1, rademacher());
  const MeasurePtr shifted =
      std::make_shared<AffineMeasure>(Matrix::Identity(1, 1), Vector::Constant(1, 1e6), signs);
  const MeasurePtr far = std::make_shared<MixtureMeasure>(
      Vector{{0.5, 0.5}},
      std::vector<MeasurePtr>{
          shifted, std::make_shared<AffineMeasure>(Matrix::Identity(1, 1), Vector::Constant(1, 1e6 + 3),
                                                   product(1, uniform(1)))});
  Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> singles(200, 1);
  for (Eigen::Index i = 0; i < 200; ++i) singles(i, 0) = static_cast<float>(std::sin(static_cast<double>(i)));
  const MeasurePtr prompt =
      std::make_shared<EmpiricalMeasure>(ArrayView{singles.data(), Scalar::float32, 200, 1, 1, 1});
  const Case cases[] = {{signs, 20, 1, 1e6},    {signs, 20, 1, 1e30},      {signs, 18, 1, 1e9},
                        {signs, 0.1, 1e-90, 2}, {signs, 0.5, 1e-100, 1e6}, {far, 30, 1, 1e30},
                        {prompt, 9, 1, 1e20}};
  for (const Case& one : cases) {
    const AttentionLayer layer{one.tokens, Matrix::Identity(1, 1), Matrix::Constant(1, 1, one.V),
                               Vector::Constant(1, one.query)};
    const LayerErrors error = ExactErrors(layer)(one.L);
    const CertifiedErrors bound = CertifiedBounds(layer)(one.L);
    EXPECT_GE(bound.output, error.output.value - error.output.error)
        << one.query << ' ' << one.V << ' ' << one.L;
    EXPECT_GT(bound.gradient_U, 0);
  }
  // Bounds on the gradient in U fall with L even there.
  const AttentionLayer settled{signs, Matrix::Identity(1, 1), Matrix::Identity(1, 1), Vector::Constant(1, 8)};
  EXPECT_LT(CertifiedBounds(settled)(1e30).gradient_U, 1e-6);
}

// Scores too large for the average over queries: the errors come without bounds.
TEST(CertifiedBounds, DoNotCostTheErrors) {
  const MeasurePtr sphere = std::make_shared<SphereMeasure>(3, 1);
  const AttentionLayer layer{sphere, 600 * Matrix::Identity(3, 3), Matrix::Identity(3, 3), sphere};
  ConcentrationPlan plan;
  plan.lengths = {10};
  plan.exact = plan.exponents = false;
  plan.sampled = true;
  plan.sampling.samples = 50;
  EXPECT_EQ(concentration_grid(layer, plan).at(0).certified->output, kInfinity);
}

// Tokens scaled by σ are tokens of another law.
TEST(CertifiedBounds, ScalesLikeTheTokens) {
  constexpr double kSigma = 1.7;
  const Matrix U = random_matrix(2, 2, 1), V = random_matrix(2, 2, 2);
  const MeasurePtr laws[] = {product(2, uniform(1)), gaussian(2, 5), std::make_shared<SphereMeasure>(2, 1)};
  const Queries queries[] = {Vector(random_vector(2, 3)), test::standard_gaussian(2),
                             MeasurePtr(std::make_shared<SphereMeasure>(2, 2))};
  for (const MeasurePtr& law : laws) {
    const auto scaled =
        std::make_shared<AffineMeasure>(kSigma * Matrix::Identity(2, 2), Vector::Zero(2), law);
    for (const Queries& query : queries) {
      if (law == laws[1]) continue;  // an image of a Gaussian is not recognised as one
      const CertifiedErrors one = CertifiedBounds({law, U, V, query})(1000, kSigma);
      const CertifiedErrors other = CertifiedBounds({scaled, U, V, query})(1000);
      EXPECT_NEAR(one.output, other.output, 1e-6 * one.output);
      EXPECT_NEAR(one.gradient_V, other.gradient_V, 1e-6 * one.gradient_V);
      EXPECT_NEAR(one.gradient_U, other.gradient_U, 1e-4 * one.gradient_U);
    }
  }
}

// Moments of order four and eight from values of Λ, against sums over a discrete law.
TEST(TiltedMoments, AreAboveTheMoments) {
  const RowMatrix points = random_matrix(12, 3, 8);
  const EmpiricalMeasure law(points);
  const Vector b = random_vector(3, 9), centre = random_vector(3, 10);
  const Matrix A = random_matrix(2, 3, 11);
  const Vector weights = law.softmax_weights(b);
  double fourth = 0, eighth = 0, reach = 0;
  for (Eigen::Index i = 0; i < points.rows(); ++i) {
    const double size = (A * (points.row(i).transpose() - centre)).norm();
    fourth += weights[i] * std::pow(size, 4);
    eighth += weights[i] * std::pow(size, 8);
    reach = std::max(reach, size);
  }
  const Tilt tilt = law.tilt(b, TiltOrder::covariance);
  const concentration::TiltedMoments found = concentration::tilted_moments(law, b, tilt, A, centre);
  EXPECT_GE(found.fourth, fourth);
  EXPECT_LT(found.fourth, 2 * fourth);
  EXPECT_GE(found.eighth, eighth);
  EXPECT_LT(found.eighth, 100 * eighth);
  EXPECT_NEAR(concentration::reach(law, A, centre).value(), reach, 1e-14 * reach);
}

// The reach of every bounded law is above the farthest of many samples, and not far above.
TEST(TiltedMoments, NothingIsBeyondTheReach) {
  for (int kind = 0; kind < kLaws; ++kind) {
    SCOPED_TRACE(kind);
    const MeasurePtr law = token_law(kind, 2, 7);
    const Matrix A = random_matrix(2, 2, 3);
    const Vector centre = random_vector(2, 4);
    const auto reach = concentration::reach(*law, A, centre);
    const bool is_bounded = (kind >= 3 && kind <= 11);
    ASSERT_EQ(reach.has_value(), is_bounded);
    if (!is_bounded) continue;
    RowMatrix tokens(100000, 2);
    law->sample(Stream(1, 2), 0, tokens);
    const double farthest =
        ((tokens.rowwise() - centre.transpose()) * A.transpose()).rowwise().norm().maxCoeff();
    EXPECT_LE(farthest, *reach * (1 + 1e-14));
    EXPECT_LT(*reach, 2.5 * farthest);
  }
}

TEST(CertifiedBounds, SayWhatIsMissing) {
  const Matrix I = Matrix::Identity(2, 2);
  const MeasurePtr mixture = token_law(2, 2, 1), normals = test::standard_gaussian(2);
  EXPECT_TRUE(missing_bound({mixture, I, I, normals}));
  EXPECT_FALSE(missing_bound({mixture, I, I, Vector{{1, 1}}}));
  EXPECT_TRUE(missing_bound({normals, I, I, product(2, uniform(1))}));
  EXPECT_TRUE(missing_bound({product(2, uniform(1)), I, I, mixture}));
  EXPECT_THROW(CertifiedBounds({mixture, I, I, normals}), InputError);
  const CertifiedBounds bounds({normals, I, I, normals});
  EXPECT_THROW(bounds(0.5), InputError);
  EXPECT_THROW(bounds(10, 0), InputError);
}

}  // namespace
}  // namespace largo::certified_bound_test
