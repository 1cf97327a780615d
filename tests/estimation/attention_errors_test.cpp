#include "largo/estimation/attention_errors.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <string>
#include <thread>

#include "largo/exact/gaussian_error.hpp"
#include "largo/exact/query_average.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/runtime/check.hpp"
#include "support/sampled_laws.hpp"

namespace largo::attention_errors_test {
namespace {

using test::normals;

// Seeds are fixed. With new ones, the chance that one of some 600 comparisons in this file is beyond 4
// standard errors is 4 %.
constexpr double kLargestZScore = 4;

struct Method {
  const char* name;
  PromptKernel kernel;
  TokenPrecision precision;
};
constexpr Method kMethods[] = {{"full, float32", PromptKernel::full, TokenPrecision::float32},
                               {"full, float64", PromptKernel::full, TokenPrecision::float64},
                               {"collapsed", PromptKernel::collapsed, TokenPrecision::float32}};

ErrorSampling sampling(const Method& method, std::int64_t length, std::int64_t prompts) {
  ErrorSampling settings;
  settings.length = length;
  settings.plan.samples = prompts;
  settings.kernel = method.kernel;
  settings.precision = method.precision;
  return settings;
}

// Leaves room for the rounding of float32, because at L = 1 some quantities are the same for every prompt.
void expect_near(const SampledMean& sampled, double exact, double scale, const std::string& what) {
  const double distance = std::abs(sampled.value - exact);
  EXPECT_LE(distance, kLargestZScore * sampled.standard_error + 1e-5 * scale)
      << what << ": " << sampled.value << " ± " << sampled.standard_error << ", exact " << exact;
}

TEST(AttentionErrors, GaussianAgainstExactEngine) {
  constexpr std::int64_t kLengths[] = {1, 2, 5, 16, 60, 257, 1000};
  for (std::uint64_t id = 0; id < 20; ++id) {
    const std::ptrdiff_t d = 1 + static_cast<std::ptrdiff_t>(id % 5);
    const std::ptrdiff_t rank = id % 4 == 3 && d > 1 ? d - 1 : d;
    const Matrix root = 0.5 * normals(d, rank, 100 * id);
    const Matrix covariance = root * root.transpose();
    const Matrix U = normals(d, d, 100 * id + 1) / std::sqrt(static_cast<double>(d));
    const Matrix V = normals(1 + static_cast<std::ptrdiff_t>(id % 3), d, 100 * id + 2);
    const Vector query = normals(d, 1, 100 * id + 3);
    const GaussianMeasure law(normals(d, 1, 100 * id + 4), covariance);
    const std::int64_t L = kLengths[id % 7];
    const AttentionError exact = gaussian_attention_error(covariance, U, V, query, static_cast<double>(L));
    for (const Method& method : kMethods) {
      ErrorSampling settings = sampling(method, L, 40000);
      settings.gradient_U = true;
      settings.seed = 10 + id;
      const SampledErrors sampled = sample_attention_errors(law, U, V, query, settings);
      const std::string what = std::string(method.name) + ", setting " + std::to_string(id);
      expect_near(sampled.output, exact.output.value, exact.output.value, what + ", output");
      expect_near(sampled.gradient_V, exact.gradient_V.value, exact.gradient_V.value,
                  what + ", gradient in V");
      expect_near(sampled.gradient_U, exact.gradient_U.value, exact.gradient_U.value,
                  what + ", gradient in U");
      const double size = std::sqrt(exact.output.value);
      for (std::size_t i = 0; i < sampled.bias.size(); ++i) {
        expect_near(sampled.bias[i], exact.bias[static_cast<std::ptrdiff_t>(i)], size, what + ", bias");
      }
    }
  }
}

class EveryLaw : public ::testing::TestWithParam<std::size_t> {
 protected:
  const test::NamedLaw named_ = test::sampled_laws()[GetParam()];
  const Matrix U_ = 0.8 * normals(3, 3, 50);
  const Matrix V_ = normals(2, 3, 51);
  const Vector query_ = normals(3, 1, 52);
};

// One token is its own average: the output error and the bias are moments of the law itself.
TEST_P(EveryLaw, OneTokenHasTheMomentsOfTheLaw) {
  const Measure& law = *named_.law;
  const Vector a = U_ * query_;
  const Vector limit = law.tilt(a, TiltOrder::mean).mean;
  const Vector shift = V_ * (law.mean() - limit);
  const double mse = (V_ * law.covariance() * V_.transpose()).trace() + shift.squaredNorm();
  for (const Method& method : kMethods) {
    if (method.kernel == PromptKernel::collapsed && !named_.has_score_law) continue;
    const SampledErrors sampled = sample_attention_errors(law, U_, V_, query_, sampling(method, 1, 40000));
    expect_near(sampled.output, mse, mse, std::string(method.name) + ", output");
    for (std::size_t i = 0; i < sampled.bias.size(); ++i) {
      expect_near(sampled.bias[i], shift[static_cast<std::ptrdiff_t>(i)], std::sqrt(mse), method.name);
    }
  }
}

// 300 tokens make two chunks. The oracle draws prompts with the law's own sampler and attends by definition.
TEST_P(EveryLaw, PromptsAgainstTheDefinition) {
  constexpr std::int64_t kLength = 300;
  constexpr std::int64_t kPrompts = 1500;
  const Measure& law = *named_.law;
  const Vector a = U_ * query_;
  const Tilt limit = law.tilt(a, TiltOrder::covariance);
  double sum[3] = {}, square[3] = {};
  for (std::int64_t i = 0; i < kPrompts; ++i) {
    const RowMatrix z = sample_prompt(law, Stream(99, static_cast<std::uint64_t>(i)), kLength);
    Vector weights = z * a;
    weights = (weights.array() - weights.maxCoeff()).exp();
    weights /= weights.sum();
    const Vector mean = z.transpose() * weights;
    const Matrix covariance = z.transpose() * weights.asDiagonal() * z - mean * mean.transpose();
    const double errors[] = {(V_ * (mean - limit.mean)).squaredNorm(), 2 * (mean - limit.mean).squaredNorm(),
                             query_.squaredNorm() * (V_ * (covariance - limit.covariance)).squaredNorm()};
    for (int k = 0; k < 3; ++k) {
      sum[k] += errors[k];
      square[k] += errors[k] * errors[k];
    }
  }
  const auto expect_same = [&](const SampledMean& sampled, int k, const std::string& what) {
    const double mean = sum[k] / kPrompts;
    const double variance = std::max(0.0, square[k] / kPrompts - mean * mean) / kPrompts;
    const double error = std::sqrt(variance + sampled.standard_error * sampled.standard_error);
    EXPECT_NEAR(sampled.value, mean, kLargestZScore * error + 1e-10) << what;
  };
  for (const Method& method : kMethods) {
    const bool collapsed = method.kernel == PromptKernel::collapsed;
    if (collapsed && !named_.has_score_law) continue;
    ErrorSampling settings = sampling(method, kLength, 3000);
    settings.gradient_U = !collapsed;
    const SampledErrors sampled = sample_attention_errors(law, U_, V_, query_, settings);
    expect_same(sampled.output, 0, std::string(method.name) + ", output");
    expect_same(sampled.gradient_V, 1, std::string(method.name) + ", gradient in V");
    if (!collapsed) expect_same(sampled.gradient_U, 2, std::string(method.name) + ", gradient in U");
    if (!named_.has_score_law) continue;
    const OutputError exact = score_law_error(law, V_, a, static_cast<double>(kLength));
    expect_near(sampled.output, exact.mse, exact.mse,
                std::string(method.name) + ", against the exact engine");
  }
}

INSTANTIATE_TEST_SUITE_P(Laws, EveryLaw, ::testing::Range(std::size_t{0}, test::sampled_laws().size()),
                         [](const auto& instance) { return test::sampled_laws()[instance.param].name; });

TEST(AttentionErrors, RandomQueriesAgainstExactAverage) {
  const Matrix covariance = Matrix::Identity(3, 3);
  const Matrix U = 0.4 * normals(3, 3, 60);
  const Matrix V = normals(2, 3, 61);
  const Matrix query_root = 0.8 * normals(3, 3, 62);
  const Vector query_mean = normals(3, 1, 63);
  const GaussianMeasure law = GaussianMeasure::standard(3);
  const GaussianMeasure queries(query_mean, query_root * query_root.transpose());
  const auto exact = averaged_attention_error(covariance, U, V, query_mean, queries.covariance(), 30);
  for (const Method& method : kMethods) {
    ErrorSampling settings = sampling(method, 30, 20000);
    settings.gradient_U = true;
    const SampledErrors sampled = sample_attention_errors(law, U, V, queries, settings);
    expect_near(sampled.output, exact.output.value, 0, method.name);
    expect_near(sampled.gradient_V, exact.gradient_V.value, 0, method.name);
    expect_near(sampled.gradient_U, exact.gradient_U.value, 0, method.name);
  }
}

TEST(AttentionErrors, ControlsReduceTheVarianceWithoutBias) {
  const GaussianMeasure law = GaussianMeasure::standard(2);
  const Matrix U = 0.3 * Matrix::Identity(2, 2);
  const Matrix V = Matrix::Identity(2, 2);
  const Vector query = Vector::Ones(2);
  const double exact = gaussian_attention_error(Matrix::Identity(2, 2), U, V, query, 500).output.value;
  ErrorSampling settings;
  settings.length = 500;
  settings.plan.samples = 8000;
  const SampledErrors with = sample_attention_errors(law, U, V, query, settings);
  settings.plan.use_controls = false;
  const SampledErrors without = sample_attention_errors(law, U, V, query, settings);
  expect_near(with.output, exact, 0, "with controls");
  expect_near(without.output, exact, 0, "without");
  EXPECT_LT(with.output.standard_error, without.output.standard_error / 5);
  EXPECT_GT(with.output.variance_reduction, 25);
  EXPECT_EQ(without.output.variance_reduction, 1);
}

TEST(AttentionErrors, WarnsBeyondTheCondensationLineAndOfRareTokens) {
  const GaussianMeasure law = GaussianMeasure::standard(2);
  const Matrix V = Matrix::Identity(2, 2);
  const Vector query = Vector::Unit(2, 0);
  for (const PromptKernel kernel : {PromptKernel::full, PromptKernel::collapsed}) {
    for (const std::int64_t L : {10, 100, 1000}) {
      const double line = std::sqrt(2 * std::log(static_cast<double>(L)));
      ErrorSampling settings;
      settings.length = L;
      settings.kernel = kernel;
      settings.plan.samples = 20000;
      const auto warnings = [&](double s) {
        return sample_attention_errors(law, s * Matrix::Identity(2, 2), V, query, settings).warnings;
      };
      EXPECT_TRUE(warnings(0.2 * line).empty()) << L;
      EXPECT_TRUE(warnings(0.98 * line).empty()) << L;
      const auto beyond = warnings(1.02 * line);
      ASSERT_EQ(beyond.size(), 1U) << L;
      EXPECT_NE(beyond[0].find("take longer prompts"), std::string::npos) << beyond[0];
    }
    // At 0.6 of the condensation line of L = 1e4, 300 prompts hold almost no tokens that carry the error.
    ErrorSampling few;
    few.length = 10000;
    few.kernel = kernel;
    few.plan.samples = 300;
    const double s = 0.6 * std::sqrt(2 * std::log(1e4));
    const auto rare = sample_attention_errors(law, s * Matrix::Identity(2, 2), V, query, few).warnings;
    ASSERT_FALSE(rare.empty());
    EXPECT_NE(rare[0].find("rare tokens"), std::string::npos) << rare[0];
  }
}

// Float32 kernels work around the mean, so that a law far from zero loses nothing.
TEST(AttentionErrors, TokensFarFromZero) {
  const RowMatrix points = normals(40, 2, 70);
  const Matrix U = 0.5 * normals(2, 2, 71);
  const Matrix V = normals(2, 2, 72);
  const Vector query = normals(2, 1, 73);
  const EmpiricalMeasure near(points);
  const EmpiricalMeasure far(RowMatrix(points.array() + 1e6));
  for (const Method& method : kMethods) {
    ErrorSampling settings = sampling(method, 300, 2000);
    settings.gradient_U = method.kernel == PromptKernel::full;
    const SampledErrors a = sample_attention_errors(near, U, V, query, settings);
    const SampledErrors b = sample_attention_errors(far, U, V, query, settings);
    EXPECT_NEAR(b.output.value / a.output.value, 1, 1e-5) << method.name;
    if (settings.gradient_U) {
      EXPECT_NEAR(b.gradient_U.value / a.gradient_U.value, 1, 1e-5) << method.name;
    }
  }
}

TEST(AttentionErrors, GradientInUOnlyWhenAskedFor) {
  const GaussianMeasure law = GaussianMeasure::standard(2);
  const Matrix I = Matrix::Identity(2, 2);
  for (const Method& method : kMethods) {
    ErrorSampling settings = sampling(method, 1000, 100000);
    settings.plan.relative_error = 0.02;
    const SampledErrors without = sample_attention_errors(law, 0.5 * I, I, Vector::Unit(2, 0), settings);
    EXPECT_EQ(without.gradient_U.value, 0) << method.name;
    EXPECT_EQ(without.output.samples, 1024) << method.name;
  }
}

// Difficult cases: no tokens to collapse, equal weights, laws that cannot be tilted far, and sizes whose
// fourth powers overflow.
TEST(AttentionErrors, EdgesOfTheDomain) {
  const Matrix I = Matrix::Identity(2, 2);
  const Vector query = Vector::Ones(2);
  ErrorSampling settings = sampling(kMethods[2], 5, 2000);
  settings.gradient_U = true;
  const GaussianMeasure point(Vector::Ones(2), Matrix::Zero(2, 2));
  EXPECT_EQ(sample_attention_errors(point, I, I, query, settings).output.value, 0);
  const GaussianMeasure law = GaussianMeasure::standard(2);
  const SampledErrors equal = sample_attention_errors(law, 0 * I, I, query, settings);
  EXPECT_TRUE(equal.warnings.empty());
  expect_near(equal.output, 0.4, 0.4, "equal weights");
  EXPECT_LE(equal.output.low, 0.4);
  EXPECT_GE(equal.output.high, 0.4);
  EXPECT_THROW(sample_attention_errors(law, I, 1e100 * I, query, settings), InputError);
  EXPECT_THROW(sample_attention_errors(law, I, 1e-100 * I, query, settings), InputError);
  EXPECT_THROW(sample_attention_errors(law, I, I, query, settings, {.threads = -1}), InputError);
  EXPECT_THROW(sample_attention_errors(law, I, I, query, settings, {.threads = 1000000}), InputError);

  // This law has no tilts beyond length 2.
  class Short final : public Measure {
   public:
    Short() : Measure(2) {}
    double log_partition(const ConstVectorRef& a) const override {
      if (a.norm() > 2) throw InputError("no tilt so far out");
      return a.squaredNorm() / 2;
    }
    Tilt tilt(const ConstVectorRef& a, TiltOrder) const override {
      return {log_partition(a), a, Matrix::Identity(2, 2)};
    }
    void sample(const Stream& stream, std::uint64_t first, Eigen::Ref<RowMatrix> tokens) const override {
      stream.normals(2 * first, {tokens.data(), static_cast<std::size_t>(tokens.size())});
    }
  };
  const SampledErrors some = sample_attention_errors(Short(), I, I, query, sampling(kMethods[0], 100, 1000));
  ASSERT_EQ(some.warnings.size(), 1U);
  EXPECT_NE(some.warnings[0].find("not known"), std::string::npos);
}

TEST(AttentionErrors, StopsWithinASecond) {
  const GaussianMeasure law = GaussianMeasure::standard(4);
  const Matrix I = Matrix::Identity(4, 4);
  std::atomic<bool> stop = false;
  for (const Method& method : kMethods) {
    stop = false;
    std::chrono::steady_clock::time_point asked;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      asked = std::chrono::steady_clock::now();
      stop = true;
    });
    EXPECT_THROW(
        sample_attention_errors(law, I, I, Vector::Ones(4), sampling(method, std::int64_t{1} << 39, 100),
                                {.threads = 2, .stop = &stop}),
        Stopped);
    const auto ended = std::chrono::steady_clock::now();
    later.join();
    EXPECT_LT(ended - asked, std::chrono::seconds(1)) << method.name;
  }
}

TEST(AttentionErrors, BadInput) {
  const GaussianMeasure law = GaussianMeasure::standard(2);
  const Matrix I = Matrix::Identity(2, 2);
  const Vector query = Vector::Ones(2);
  const ErrorSampling good = sampling(kMethods[0], 10, 100);
  const auto run = [&](const Matrix& U, const Matrix& V, const Vector& z, const ErrorSampling& settings) {
    return sample_attention_errors(law, U, V, z, settings);
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NO_THROW(run(I, I, query, good));
  EXPECT_THROW(run(Matrix::Identity(3, 3), I, query, good), InputError);
  EXPECT_THROW(run(I, Matrix::Identity(3, 3), query, good), InputError);
  EXPECT_THROW(run(I, Matrix(0, 2), query, good), InputError);
  EXPECT_THROW(run(I, I, Vector::Ones(3), good), InputError);
  EXPECT_THROW(run(kNan * I, I, query, good), InputError);
  EXPECT_THROW(run(I, kNan * I, query, good), InputError);
  EXPECT_THROW(run(I, I, kNan * query, good), InputError);
  EXPECT_THROW(run(1e20 * I, I, query, good), InputError);
  EXPECT_THROW(run(I, I, query, sampling(kMethods[0], 0, 100)), InputError);
  EXPECT_THROW(run(I, I, query, sampling(kMethods[0], std::int64_t{1} << 40, 100)), InputError);
  EXPECT_THROW(run(I, I, query, sampling(kMethods[0], 10, 1)), InputError);
  const Method collapsed64{"", PromptKernel::collapsed, TokenPrecision::float64};
  EXPECT_THROW(run(I, I, query, sampling(collapsed64, 10, 100)), InputError);
  // Refused: a law without a score law, and a gradient in U that needs the tokens.
  const ProductMeasure uniforms(2, uniform(1));
  EXPECT_THROW(sample_attention_errors(uniforms, I, I, query, sampling(kMethods[2], 10, 100)), InputError);
  ErrorSampling gradient = sampling(kMethods[2], 10, 100);
  gradient.gradient_U = true;
  EXPECT_THROW(sample_attention_errors(SphereMeasure(2, 1), I, I, query, gradient), InputError);
  // Scores that float32 cannot hold.
  EXPECT_THROW(run(1e13 * I, I, query, good), InputError);
}

}  // namespace
}  // namespace largo::attention_errors_test
