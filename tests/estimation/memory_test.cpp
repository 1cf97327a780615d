// The memory of a run depends on the law, not on the length or the number of prompts.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "largo/estimation/attention_errors.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/prompts/regression_gradient.hpp"

namespace largo::memory_test {
namespace {

// The peak in MiB; Linux reports KiB.
double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// A stored prompt of 2^24 tokens would take 128 MiB, and a number for each of 2^20 prompts 8 MiB.
constexpr double kAllowed = 4;  // for buffers of the allocator and of new threads

TEST(Memory, LengthAndNumberOfPrompts) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
  const GaussianMeasure law = GaussianMeasure::standard(2);
  const Matrix I = Matrix::Identity(2, 2);
  RegressionTask task{I.topLeftCorner(1, 1), I.topLeftCorner(1, 1), I.topLeftCorner(1, 1), 0.1, 1};
  const RegressionParameters parameters{I, Vector::Ones(2)};
  const auto run = [&](std::int64_t length, std::int64_t prompts) {
    for (const PromptKernel kernel : {PromptKernel::full, PromptKernel::collapsed}) {
      ErrorSampling sampling;
      sampling.length = length;
      sampling.plan.samples = prompts;
      sampling.kernel = kernel;
      sample_attention_errors(law, I, I, Vector::Ones(2), sampling, {.threads = 2});
      regression_gradient(task, parameters, {0, prompts, length, 1, kernel}, {.threads = 2});
    }
  };
  run(1000, 1000);
  const double before = peak_memory();
  run(std::int64_t{1} << 24, 2);
  run(1, std::int64_t{1} << 20);
  EXPECT_LT(peak_memory() - before, kAllowed);
}

}  // namespace
}  // namespace largo::memory_test
