// Sampled errors with prompts drawn on a GPU have the bits of the CPU.
#include "prompt_engine.hpp"

#include <cstring>

#include "gpu.hpp"
#include "largo/estimation/attention_errors.hpp"
#include "largo/exact/score_law_error.hpp"
#include "largo/measures/affine.hpp"
#include "largo/measures/elliptical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/mixture.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"
#include "support/fake_device.hpp"
#include "support/random_matrices.hpp"
#include "token_limit.hpp"

namespace largo {
namespace {

class GpuPrompts : public GpuTest {};

constexpr test::RandomMatrices normals(5);

struct NamedLaw {
  const char* name;
  MeasurePtr law;
  PromptKernel kernel = PromptKernel::full;
};

// One component is rare in short prompts, one occurs in no prompt, some draw their tokens in other ways, and
// one is a point.
MeasurePtr mixture(Eigen::Index d) {
  return std::make_shared<MixtureMeasure>(
      (Vector(6) << 0.4, 0.29, 0.2, 0.01, 1e-12, 0.1).finished(),
      std::vector<MeasurePtr>{
          std::make_shared<GaussianMeasure>(normals(d, 1, 6), 0.5 * Matrix::Identity(d, d)),
          std::make_shared<ProductMeasure>(d, rademacher()), std::make_shared<SphereMeasure>(d, 1.5),
          std::make_shared<GaussianMeasure>(2 * normals(d, 1, 7), Matrix::Identity(d, d)),
          std::make_shared<ProductMeasure>(d, rademacher(3)),
          std::make_shared<GaussianMeasure>(normals(d, 1, 8), Matrix::Zero(d, d))});
}

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
          {"intervals", std::make_shared<ProductMeasure>(d, uniform(1.5))},
          {"mixed coordinates", std::make_shared<ProductMeasure>(mixed)},
          {"sphere", std::make_shared<SphereMeasure>(d, 1.5)},
          {"laplace", std::make_shared<ProductMeasure>(d, truncated_laplace(0.7, 2.5))},
          {"discrete radii", std::make_shared<EllipticalMeasure>(
                                 covariance, EllipticalBase::gaussian,
                                 RadialLaw::discrete(Vector::LinSpaced(3, 0.25, 2), Vector::Ones(3)))},
          {"uniform radii", std::make_shared<EllipticalMeasure>(covariance, EllipticalBase::sphere,
                                                                RadialLaw::uniform(0.1, 2))},
          {"ball", std::make_shared<BallMeasure>(d, 1.5)},
          {"mixture", mixture(d)}};
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
  for (const Eigen::Index d : {1, 2, 5, 16}) {
    const Matrix U = 0.5 / std::sqrt(static_cast<double>(d)) * normals(d, d, 3), V = normals(3, d, 4);
    const Vector query = normals(d, 1, 5);
    for (const NamedLaw& law : laws(d)) {
      for (const std::int64_t L : {1, 7, 64, 129, 255, 256, 257, 1000, 3001}) {
        if (short_tests() && (d > 5 || L > 257 || L == 129)) continue;
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

// The chunks of a prompt are spread over several launches, and the prompts over several groups.
TEST_F(GpuPrompts, DividedBetweenLaunchesHaveTheBitsOfTheCpu) {
  constexpr Eigen::Index kD = 5;
  const Matrix U = 2 * normals(kD, kD, 3), V = normals(3, kD, 4);
  const Vector query = normals(kD, 1, 5);
  // A chunk has 8 or 23 numbers, and a launch holds a few chunks.
  for (const std::int64_t held : {1, 23 * 70, 23 * 200}) {
    const cuda::CudaPrompts engine(0, {.held_numbers = held});
    const FakeDevice divided({&engine});
    for (const NamedLaw& law : laws(kD)) {
      for (const std::int64_t L : {256, 1000, 3001}) {
        if (L > usual_or_short(L, 1000)) continue;
        ErrorSampling sampling = sampling_of(law, L);
        sampling.plan.samples = usual_or_short(70, 5);
        expect_same(sample_attention_errors(*law.law, U, V, query, sampling),
                    sample_attention_errors(*law.law, U, V, query, sampling, {.device = &divided}),
                    std::string(law.name) + ", L " + std::to_string(L) + ", held " + std::to_string(held));
      }
    }
  }
}

// The components of the tokens are drawn span by span, with 64 chunks in a span.
TEST_F(GpuPrompts, OfMixturesHaveTheBitsOfTheCpuInAllSpans) {
  constexpr Eigen::Index kD = 3;
  const NamedLaw law{"mixture", mixture(kD)};
  const Matrix U = normals(kD, kD, 3), V = normals(3, kD, 4);
  const Vector query = normals(kD, 1, 5);
  for (const std::int64_t held : {std::int64_t{12} * 100, std::int64_t{1} << 25}) {
    const cuda::CudaPrompts engine(0, {.held_numbers = held});
    const FakeDevice divided({&engine});
    for (const std::int64_t L : {16383, 16384, 16385, 40000}) {
      if (short_tests() && L != 16385) continue;
      ErrorSampling sampling = sampling_of(law, L);
      sampling.plan.samples = usual_or_short(12, 2);
      expect_same(sample_attention_errors(*law.law, U, V, query, sampling),
                  sample_attention_errors(*law.law, U, V, query, sampling, {.device = &divided}),
                  "L " + std::to_string(L) + ", held " + std::to_string(held));
    }
  }
}

TEST_F(GpuPrompts, OfAsManyComponentsAsThereMayBeHaveTheBitsOfTheCpu) {
  constexpr Eigen::Index kD = 2, kCount = 64;
  std::vector<MeasurePtr> components;
  for (Eigen::Index k = 0; k < kCount; ++k) {
    components.push_back(std::make_shared<GaussianMeasure>(normals(kD, 1, 20 + static_cast<std::uint64_t>(k)),
                                                           Matrix::Identity(kD, kD)));
  }
  const NamedLaw law{"64", std::make_shared<MixtureMeasure>(Vector::LinSpaced(kCount, 1, 2), components)};
  ErrorSampling sampling = sampling_of(law, 20000);
  sampling.plan.samples = usual_or_short(40, 3);
  const Matrix I = Matrix::Identity(kD, kD);
  expect_same(sample_attention_errors(*law.law, I, I, Vector::Ones(kD), sampling),
              sample_attention_errors(*law.law, I, I, Vector::Ones(kD), sampling, {.device = &device()}),
              law.name);
}

// Rounding and refusal do not depend on which launch meets a score beyond the bounds.
TEST_F(GpuPrompts, OfScoresBeyondTheBoundsAreRefusedInEveryLaunch) {
  constexpr Eigen::Index kD = 2;
  const cuda::CudaPrompts engine(0, {.held_numbers = 1});
  const FakeDevice divided({&engine});
  const ProductMeasure law(kD, rademacher());
  const Matrix U = 1e13 * Matrix::Identity(kD, kD), V = Matrix::Identity(kD, kD);
  ErrorSampling sampling = sampling_of({"", nullptr}, 1000);
  sampling.gradient_U = false;
  for (const Execution& where :
       {Execution{}, Execution{.device = &device()}, Execution{.device = &divided}}) {
    EXPECT_THROW(sample_attention_errors(law, U, V, Vector::Ones(kD), sampling, where), InputError);
  }
}

TEST_F(GpuPrompts, OfAsManyCoordinatesAsFitHaveTheBitsOfTheCpu) {
  const Eigen::Index most = cuda::most_token_numbers();
  ErrorSampling sampling = sampling_of({"", nullptr}, 300);
  sampling.plan.samples = 40;
  for (const Eigen::Index d : {most, most + 1}) {
    const ProductMeasure law(d, rademacher());
    const Matrix U = 0.1 * Matrix::Identity(d, d), V = normals(2, d, 4);
    const auto on_gpu = [&] {
      return sample_attention_errors(law, U, V, normals(d, 1, 5), sampling, {.device = &device()});
    };
    if (d <= most) {
      expect_same(sample_attention_errors(law, U, V, normals(d, 1, 5), sampling), on_gpu(), "the limit");
      continue;
    }
    try {
      on_gpu();
      ADD_FAILURE() << d;
    } catch (const InputError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find("between 1 and " + std::to_string(most)), std::string::npos) << text;
    }
  }
}

TEST_F(GpuPrompts, OfManyTokensStopOnRequest) {
  if (short_tests()) GTEST_SKIP() << "a launch is not short under a sanitizer";
  constexpr Eigen::Index kD = 16;
  const ProductMeasure law(kD, rademacher());
  const Matrix I = Matrix::Identity(kD, kD);
  const ErrorSampling sampling = sampling_of({"", nullptr}, (std::int64_t{1} << 40) - 1);
  expect_stop([&](const std::atomic<bool>* stop) {
    sample_attention_errors(law, 0.1 * I, I, Vector::Ones(kD), sampling, {.stop = stop, .device = &device()});
  });
}

// With 8 laws, a z-score beyond 4 has probability 5e-4 for a new seed.
TEST_F(GpuPrompts, AgreeWithTheExactErrors) {
  constexpr Eigen::Index kD = 4;
  constexpr std::int64_t kLength = 500;
  const Matrix U = 0.4 * normals(kD, kD, 3), V = normals(2, kD, 4);
  const Vector query = normals(kD, 1, 5);
  for (const NamedLaw& law : laws(kD)) {
    const std::string name = law.name;
    if (name == "mixed coordinates" || name == "intervals" || name == "laplace") continue;  // no score law
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
      {"mixture of too many",
       std::make_shared<MixtureMeasure>(Vector::Ones(65), std::vector<MeasurePtr>(65, gaussian))},
      {"laplace that is all but uniform", std::make_shared<ProductMeasure>(kD, truncated_laplace(1e4, 3))}};
  for (const NamedLaw& law : refused) {
    try {
      sample_attention_errors(*law.law, 0.2 * I, I, Vector::Ones(kD), sampling_of(law, 10),
                              {.device = &device()});
      ADD_FAILURE() << law.name;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("on the CPU"), std::string::npos) << error.what();
    }
  }
  ErrorSampling wide = sampling_of({"", nullptr}, 10);
  wide.precision = TokenPrecision::float64;
  EXPECT_THROW(sample_attention_errors(*gaussian, I, I, Vector::Ones(kD), wide, {.device = &device()}),
               InputError);
}

}  // namespace
}  // namespace largo
