// A result is a function of its inputs and its seed: 100 random configurations, each run in a random way
// (threads, ranks, chunks, SIMD level), must give the bits of the plain run and those stored in
// data/same_bits.txt, whichever compiler built this test. To store them anew after a change of the kernels:
//
//   LARGO_WRITE_BITS=1 build/release/tests/estimation/test_estimation --gtest_filter='SameBits.*'
#include <gtest/gtest.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "largo/estimation/attention_errors.hpp"
#include "largo/measures/token_leaf.hpp"
#include "largo/numerics/simd_level.hpp"
#include "largo/prompts/regression_gradient.hpp"
#include "support/sampled_laws.hpp"
#include "support/thread_ranks.hpp"

namespace largo::same_bits_test {
namespace {

using test::normals;

constexpr int kConfigurations = 100;

// The FNV-1a hash of the bits.
class Fingerprint {
 public:
  void add(double x) {
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(x), k = 0; k < 8; ++k, bits >>= 8) {
      hash_ = (hash_ ^ (bits & 255)) * 0x100000001b3;
    }
  }
  void add(const SampledMean& mean) {
    add(mean.value);
    add(mean.standard_error);
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

std::uint64_t regression_bits(std::mt19937_64& random, const Execution& execution) {
  const auto d = static_cast<std::ptrdiff_t>(1 + random() % 7);
  RegressionTask task{normals(d, d, 400), normals(d, d, 401), normals(d, d, 402), 0.3, 0.5};
  const RegressionParameters parameters{normals(d + 1, d + 1, 403), normals(d + 1, 1, 404)};
  RegressionBatch batch;
  batch.seed = random();
  batch.first = static_cast<std::int64_t>(random() % 1000);
  batch.prompts = static_cast<std::int64_t>(1 + random() % 300);
  batch.length = static_cast<std::int64_t>(1 + random() % 700);
  batch.kernel = random() % 2 == 0 ? PromptKernel::full : PromptKernel::collapsed;
  const RegressionGradient gradient = regression_gradient(task, parameters, batch, execution);
  Fingerprint bits;
  bits.add(gradient.loss);
  for (const double x : gradient.U.reshaped()) bits.add(x);
  for (const double x : gradient.v) bits.add(x);
  return bits.value();
}

// Draws tokens as its base does, but its limit needs no function of the C library: all bits are largo's own.
class Drawn final : public Measure {
 public:
  explicit Drawn(MeasurePtr base) : Measure(base->dimension()), base_(std::move(base)) {}
  double log_partition(const ConstVectorRef&) const override { return 0; }
  Tilt tilt(const ConstVectorRef&, TiltOrder) const override {
    return {0, Vector::Zero(dimension()), Matrix::Zero(dimension(), dimension())};
  }
  ScoreLaw score_law(const ConstVectorRef& direction) const override { return base_->score_law(direction); }
  std::vector<TokenLeaf> token_leaves() const override { return base_->token_leaves(); }

 private:
  MeasurePtr base_;
};

struct Choice {
  MeasurePtr law;
  bool has_score_law = true;
};

Choice choose_law(std::uint64_t choice) {
  const Matrix root = normals(3, 3, 410);
  const auto gaussian = std::make_shared<GaussianMeasure>(normals(3, 1, 411), root * root.transpose());
  const auto sphere = std::make_shared<SphereMeasure>(3, 1);
  const auto coins = std::make_shared<ProductMeasure>(3, rademacher());
  switch (choice % 6) {
    case 0: return {gaussian};
    case 1: return {std::make_shared<test::PlainGaussian>(3), false};
    case 2:
      return {
          std::make_shared<AffineMeasure>(normals(3, 5, 412), normals(3, 1, 413),
                                          std::make_shared<GaussianMeasure>(GaussianMeasure::standard(5)))};
    case 3: return {sphere};
    case 4: return {std::make_shared<ProductMeasure>(3, uniform(1)), false};
    default:
      return {std::make_shared<MixtureMeasure>(Vector::Ones(3),
                                               std::vector<MeasurePtr>{gaussian, sphere, coins})};
  }
}

std::uint64_t error_bits(std::mt19937_64& random, const Execution& execution) {
  const Choice choice = choose_law(random());
  const Drawn law(choice.law);
  ErrorSampling sampling;
  sampling.seed = random();
  sampling.plan.first = random() % 1000;
  sampling.plan.samples = static_cast<std::int64_t>(2 + random() % 900);
  if (random() % 3 == 0) {
    sampling.plan.samples *= 5;
    sampling.plan.relative_error = 0.05;
  }
  sampling.length = static_cast<std::int64_t>(1 + random() % 700);
  const std::uint64_t method = random() % 3;
  const bool collapsed = method == 2 && choice.has_score_law;
  sampling.kernel = collapsed ? PromptKernel::collapsed : PromptKernel::full;
  sampling.precision = method == 1 ? TokenPrecision::float64 : TokenPrecision::float32;
  sampling.gradient_U = !collapsed;
  const double scale = static_cast<double>(1 + random() % 10) / 10;
  const SampledErrors errors = sample_attention_errors(law, scale * normals(3, 3, 420), normals(2, 3, 421),
                                                       Vector(normals(3, 1, 422)), sampling, execution);
  Fingerprint bits;
  bits.add(errors.output);
  bits.add(errors.gradient_V);
  bits.add(errors.gradient_U);
  bits.add(errors.p2);
  for (const SampledMean& bias : errors.bias) bits.add(bias);
  return bits.value();
}

std::uint64_t bits_of(int configuration, const Execution& execution) {
  std::mt19937_64 random(static_cast<std::uint64_t>(configuration));
  return configuration % 2 == 0 ? regression_bits(random, execution) : error_bits(random, execution);
}

std::string written_path() { return std::string(LARGO_TEST_DATA) + "/same_bits.txt"; }

// The limits and controls are those of the laws themselves. An empirical measure is left out, because its own
// tilt depends on the SIMD level.
TEST(SameBits, EveryLawAtEveryLevel) {
  const std::string best = simd_level();
  for (const test::NamedLaw& named : test::sampled_laws()) {
    if (named.name == "tokens") continue;
    for (const PromptKernel kernel : {PromptKernel::full, PromptKernel::collapsed}) {
      if (kernel == PromptKernel::collapsed && !named.has_score_law) continue;
      ErrorSampling sampling;
      sampling.length = 300;
      sampling.plan.samples = 400;
      sampling.kernel = kernel;
      const auto bits = [&] {
        const SampledErrors errors = sample_attention_errors(
            *named.law, 0.3 * normals(3, 3, 430), normals(2, 3, 431), Vector(normals(3, 1, 432)), sampling);
        Fingerprint print;
        print.add(errors.output);
        print.add(errors.gradient_V);
        for (const SampledMean& bias : errors.bias) print.add(bias);
        return print.value();
      };
      const std::uint64_t expected = bits();
      for (const std::string& level : simd_levels()) {
        force_simd_level(level);
        EXPECT_EQ(bits(), expected) << named.name << ", " << level;
      }
      force_simd_level(best);
    }
  }
}

TEST(SameBits, HundredConfigurations) {
  std::mt19937_64 random(2026);
  const std::vector<std::string> levels = simd_levels();
  const std::string best = simd_level();
  std::vector<std::uint64_t> found;
  for (int configuration = 0; configuration < kConfigurations; ++configuration) {
    const std::uint64_t plain = bits_of(configuration, {.threads = 1});
    found.push_back(plain);
    constexpr int kThreads[] = {1, 2, 3, 7};
    constexpr std::int64_t kChunks[] = {0, 1, 2, 5, 1000};
    const Execution execution{.threads = kThreads[random() % 4], .chunk = kChunks[random() % 5]};
    const int ranks = static_cast<int>(1 + random() % 4);
    const std::string level = levels[random() % levels.size()];
    force_simd_level(level);
    std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks));
    test::run_on(ranks, [&](const Ranks& these) {
      Execution shared = execution;
      shared.ranks = &these;
      all[static_cast<std::size_t>(these.rank())] = bits_of(configuration, shared);
    });
    for (const std::uint64_t bits : all) {
      EXPECT_EQ(bits, plain) << "configuration " << configuration << ", threads " << execution.threads
                             << ", chunk " << execution.chunk << ", ranks " << ranks << ", level " << level;
    }
    force_simd_level(best);
  }
  if (std::getenv("LARGO_WRITE_BITS") != nullptr) {
    std::ofstream file(written_path());
    for (const std::uint64_t bits : found) file << std::hex << bits << "\n";
    GTEST_SKIP() << "written to " << written_path();
  }
  std::ifstream file(written_path());
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::uint64_t written = 0;
    ASSERT_TRUE(file >> std::hex >> written);
    EXPECT_EQ(found[i], written) << "configuration " << i;
  }
}

}  // namespace
}  // namespace largo::same_bits_test
