// 95 % intervals for the errors of attention, where the exact engine knows them: up to the condensation line,
// where the weights are heavy-tailed, with 10,000 runs at each point.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "largo/estimation/attention_errors.hpp"
#include "largo/exact/gaussian_error.hpp"
#include "largo/measures/gaussian.hpp"

namespace largo::coverage_test {
namespace {

constexpr std::ptrdiff_t kRuns = 10000;

struct Coverage {
  double output = 0, gradient_V = 0, gradient_U = 0;
  double warned = 0;  // share of runs that warn of condensation or rare tokens
};

// Whether a warning comes from law and query, and not from a run that had few effective samples by chance.
bool warned_in_advance(const SampledErrors& sampled) {
  return std::any_of(sampled.warnings.begin(), sampled.warnings.end(), [](const std::string& warning) {
    return warning.find("effective samples") == std::string::npos;
  });
}

// The coverage at s = x √(2 ln L) in two dimensions.
Coverage coverage(std::int64_t L, double x, std::int64_t prompts) {
  const GaussianMeasure law = GaussianMeasure::standard(2);
  const Matrix I = Matrix::Identity(2, 2);
  const Matrix U = x * std::sqrt(2 * std::log(static_cast<double>(L))) * I;
  const Vector query = Vector::Unit(2, 0);
  const AttentionError exact = gaussian_attention_error(I, U, I, query, static_cast<double>(L));
  std::vector<Coverage> runs(kRuns);
  const auto sample_run = [&](std::ptrdiff_t run) {
    ErrorSampling settings;
    settings.length = L;
    settings.seed = 31;
    settings.kernel = PromptKernel::collapsed;
    settings.gradient_U = true;
    settings.plan.samples = prompts;
    settings.plan.first = static_cast<std::uint64_t>(run * prompts);
    const SampledErrors sampled = sample_attention_errors(law, U, I, query, settings, {.threads = 1});
    const auto covers = [](const SampledMean& mean, const Estimate& value) {
      return mean.low <= value.value && value.value <= mean.high ? 1.0 : 0.0;
    };
    runs[static_cast<std::size_t>(run)] = {
        covers(sampled.output, exact.output), covers(sampled.gradient_V, exact.gradient_V),
        covers(sampled.gradient_U, exact.gradient_U), warned_in_advance(sampled) ? 1.0 : 0.0};
  };
  const std::ptrdiff_t threads = std::max(1U, std::thread::hardware_concurrency());
  {
    std::vector<std::jthread> pool;
    for (std::ptrdiff_t t = 0; t < threads; ++t) {
      pool.emplace_back([&, t] {
        for (std::ptrdiff_t run = t; run < kRuns; run += threads) sample_run(run);
      });
    }
  }
  Coverage share;
  for (const Coverage& run : runs) {
    share.output += run.output / kRuns;
    share.gradient_V += run.gradient_V / kRuns;
    share.gradient_U += run.gradient_U / kRuns;
    share.warned += run.warned / kRuns;
  }
  return share;
}

void expect_level(std::int64_t L, double x, std::int64_t prompts) {
  const Coverage share = coverage(L, x, prompts);
  const std::string what = "L = " + std::to_string(L) + ", x = " + std::to_string(x);
  std::printf("%s, %ld prompts: output %.4f, gradient in V %.4f, in U %.4f, warned %.4f\n", what.c_str(),
              static_cast<long>(prompts), share.output, share.gradient_V, share.gradient_U, share.warned);
  for (const double covered : {share.output, share.gradient_V, share.gradient_U}) {
    EXPECT_GE(covered, 0.94) << what;
    EXPECT_LE(covered, 0.96) << what;
  }
  EXPECT_EQ(share.warned, 0) << what;
}

TEST(Coverage, ShortPrompts) {
  for (const double x : {0.3, 1.0}) expect_level(8, x, 3000);
}

TEST(Coverage, LongPrompts) {
  if (std::getenv("LARGO_LONG_TESTS") == nullptr) GTEST_SKIP() << "minutes: set LARGO_LONG_TESTS=1";
  for (const double x : {0.1, 0.3, 0.5, 0.7, 0.9, 1.0}) {
    expect_level(16, x, 2000);
    expect_level(100, x, 4000);
  }
  for (const double x : {0.1, 0.4, 0.7, 1.0}) expect_level(1000, x, 4000);
}

}  // namespace
}  // namespace largo::coverage_test
