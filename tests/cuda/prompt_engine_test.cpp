// Sampled errors with prompts drawn on a GPU are the CPU's, to the bit.
#include <cstring>

#include "gpu.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "largo/sampling/attention_errors.hpp"
#include "largo/sampling/streams.hpp"

namespace largo {
namespace {

class GpuPrompts : public GpuTest {};

Matrix normals(Eigen::Index rows, Eigen::Index columns, std::uint64_t id) {
  Matrix values(rows, columns);
  Stream(5, id).normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return values;
}

struct NamedLaw {
  const char* name;
  MeasurePtr law;
  PromptKernel kernel = PromptKernel::full;
};

std::vector<NamedLaw> laws(Eigen::Index d) {
  const Matrix R = 0.6 * normals(d, d, 1);
  const Matrix covariance = R * R.transpose();
  std::vector<CoordinateLawPtr> mixed;
  for (Eigen::Index j = 0; j < d; ++j) {
    mixed.push_back(j % 3 == 0 ? uniform(1.5) : j % 3 == 1 ? rademacher(0.7) : three_point(1.2, 0.3));
  }
  return {{"gaussian", std::make_shared<GaussianMeasure>(normals(d, 1, 2), covariance)},
          {"gaussian scores", std::make_shared<GaussianMeasure>(normals(d, 1, 2), covariance),
           PromptKernel::collapsed},
          {"rademacher", std::make_shared<ProductMeasure>(d, rademacher())},
          {"mixed coordinates", std::make_shared<ProductMeasure>(mixed)},
          {"sphere", std::make_shared<SphereMeasure>(d, 1.5)}};
}

void expect_same(const SampledMean& cpu, const SampledMean& gpu, const std::string& what) {
  EXPECT_EQ(cpu.value, gpu.value) << what;
  EXPECT_EQ(cpu.standard_error, gpu.standard_error) << what;
  EXPECT_EQ(cpu.low, gpu.low) << what;
  EXPECT_EQ(cpu.samples, gpu.samples) << what;
}

void expect_same(const SampledErrors& cpu, const SampledErrors& gpu, const std::string& what) {
  expect_same(cpu.output, gpu.output, what + ", output");
  expect_same(cpu.gradient_V, gpu.gradient_V, what + ", gradient in V");
  expect_same(cpu.gradient_U, gpu.gradient_U, what + ", gradient in U");
  expect_same(cpu.p2, gpu.p2, what + ", p2");
  ASSERT_EQ(cpu.bias.size(), gpu.bias.size());
  for (std::size_t i = 0; i < cpu.bias.size(); ++i) expect_same(cpu.bias[i], gpu.bias[i], what + ", bias");
  EXPECT_EQ(cpu.warnings, gpu.warnings);
}

ErrorSampling sampling_of(const NamedLaw& law, std::int64_t L) {
  ErrorSampling sampling;
  sampling.length = L;
  sampling.seed = 3;
  sampling.plan.samples = usual_or_short(300, 20);
  sampling.kernel = law.kernel;
  sampling.gradient_U = true;
  return sampling;
}

TEST_F(GpuPrompts, OfEveryLawAndLengthHaveTheBitsOfTheCpu) {
  for (const Eigen::Index d : {2, 5, 16}) {
    const Matrix U = 0.5 / std::sqrt(static_cast<double>(d)) * normals(d, d, 3), V = normals(3, d, 4);
    const Vector query = normals(d, 1, 5);
    for (const NamedLaw& law : laws(d)) {
      for (const std::int64_t L : {1, 7, 64, 129, 255, 256, 257, 1000, 3001}) {
        const ErrorSampling sampling = sampling_of(law, L);
        const std::string what =
            std::string(law.name) + ", d " + std::to_string(d) + ", L " + std::to_string(L);
        expect_same(sample_attention_errors(*law.law, U, V, query, sampling),
                    sample_attention_errors(*law.law, U, V, query, sampling, {.device = &device()}), what);
      }
    }
  }
}

TEST_F(GpuPrompts, WithoutCovariancesHaveTheBitsOfTheCpu) {
  for (const Eigen::Index d : {1, 3, 17, 70}) {
    const NamedLaw law{"rademacher", std::make_shared<ProductMeasure>(d, rademacher())};
    const Matrix U = 0.2 * Matrix::Identity(d, d), V = normals(1, d, 4);
    ErrorSampling sampling = sampling_of(law, 600);
    sampling.gradient_U = false;
    expect_same(sample_attention_errors(*law.law, U, V, normals(d, 1, 5), sampling),
                sample_attention_errors(*law.law, U, V, normals(d, 1, 5), sampling, {.device = &device()}),
                "d " + std::to_string(d));
  }
}

TEST_F(GpuPrompts, OfRandomQueriesHaveTheBitsOfTheCpu) {
  constexpr Eigen::Index kD = 4;
  const GaussianMeasure queries(Vector::Zero(kD), Matrix::Identity(kD, kD));
  for (const NamedLaw& law : laws(kD)) {
    const ErrorSampling sampling = sampling_of(law, 300);
    const Matrix U = 0.4 * normals(kD, kD, 3), V = normals(2, kD, 4);
    expect_same(sample_attention_errors(*law.law, U, V, queries, sampling),
                sample_attention_errors(*law.law, U, V, queries, sampling, {.device = &device()}), law.name);
  }
}

TEST_F(GpuPrompts, OfLargeScoresHaveTheBitsOfTheCpu) {
  constexpr Eigen::Index kD = 3;
  for (const NamedLaw& law : laws(kD)) {
    ErrorSampling sampling = sampling_of(law, 900);
    const Matrix U = 40 * normals(kD, kD, 3), V = normals(2, kD, 4);
    const Vector query = normals(kD, 1, 5);
    expect_same(sample_attention_errors(*law.law, U, V, query, sampling),
                sample_attention_errors(*law.law, U, V, query, sampling, {.device = &device()}), law.name);
  }
}

// z-scores of 4 laws: one beyond 4 has probability 3e-4 for a new seed.
TEST_F(GpuPrompts, AgreeWithTheExactErrors) {
  constexpr Eigen::Index kD = 4;
  constexpr std::int64_t kLength = 500;
  const Matrix U = 0.4 * normals(kD, kD, 3), V = normals(2, kD, 4);
  const Vector query = normals(kD, 1, 5);
  for (const NamedLaw& law : laws(kD)) {
    if (std::string(law.name) == "mixed coordinates") continue;
    ErrorSampling sampling = sampling_of(law, kLength);
    sampling.plan.samples = usual_or_short(20000, 500);
    const SampledErrors errors =
        sample_attention_errors(*law.law, U, V, query, sampling, {.device = &device()});
    const OutputError exact = score_law_error(*law.law, V, U * query, static_cast<double>(kLength));
    EXPECT_LT(std::abs(errors.output.value - exact.mse), 4 * errors.output.standard_error + 1e-6 * exact.mse)
        << law.name;
  }
}

TEST_F(GpuPrompts, AreRefusedWithARemedyWhereThereIsNoKernel) {
  constexpr Eigen::Index kD = 2;
  const Matrix I = Matrix::Identity(kD, kD);
  const auto gaussian = std::make_shared<GaussianMeasure>(Vector::Zero(kD), I);
  const NamedLaw refused[] = {
      {"mixture",
       std::make_shared<MixtureMeasure>(Vector::Ones(2), std::vector<MeasurePtr>{gaussian, gaussian})},
      {"laplace", std::make_shared<ProductMeasure>(kD, truncated_laplace(1, 3))},
      {"elliptical", std::make_shared<EllipticalMeasure>(
                         I, EllipticalBase::gaussian,
                         RadialLaw::discrete(Vector::LinSpaced(3, 0.25, 2), Vector::Ones(3)))}};
  for (const NamedLaw& law : refused) {
    try {
      sample_attention_errors(*law.law, 0.2 * I, I, Vector::Ones(kD), sampling_of(law, 10),
                              {.device = &device()});
      ADD_FAILURE() << law.name;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("--device cpu"), std::string::npos) << error.what();
    }
  }
  ErrorSampling wide = sampling_of({"", nullptr}, 10);
  wide.precision = TokenPrecision::float64;
  EXPECT_THROW(sample_attention_errors(*gaussian, I, I, Vector::Ones(kD), wide, {.device = &device()}),
               InputError);
}

}  // namespace
}  // namespace largo
