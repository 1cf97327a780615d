// The sampling engine: output error of attention over sampled prompts, d = 16.
#include <benchmark/benchmark.h>

#include <memory>

#include "largo/estimation/attention_errors.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"

namespace {

constexpr int kDimension = 16;
constexpr std::int64_t kPrompts = 64;

enum Law : std::int64_t { kGaussian, kRademacher, kSphere };

largo::MeasurePtr law_of(std::int64_t law) {
  switch (law) {
    case kRademacher: return std::make_shared<largo::ProductMeasure>(kDimension, largo::rademacher());
    case kSphere: return std::make_shared<largo::SphereMeasure>(kDimension, 4);  // unit variances
    default: return std::make_shared<largo::GaussianMeasure>(largo::GaussianMeasure::standard(kDimension));
  }
}

void output_error(benchmark::State& state) {
  const largo::MeasurePtr law = law_of(state.range(0));
  const largo::Matrix U = largo::Matrix::Identity(kDimension, kDimension);
  const largo::Matrix V = largo::Matrix::Identity(kDimension, kDimension);
  const largo::Vector query = largo::Vector::Constant(kDimension, 0.25);  // scores of variance one
  largo::ErrorSampling sampling;
  sampling.length = state.range(1);
  sampling.kernel = state.range(2) == 0 ? largo::PromptKernel::full : largo::PromptKernel::collapsed;
  sampling.plan.samples = kPrompts;
  sampling.plan.use_controls = false;  // so that kernels compare token for token
  const int threads = static_cast<int>(state.range(3));
  for (auto _ : state) {
    const auto errors =
        largo::sample_attention_errors(*law, U, V, query, sampling, largo::Execution{.threads = threads});
    benchmark::DoNotOptimize(errors.output.value);
    sampling.plan.first += kPrompts;
  }
  state.counters["tokens"] = benchmark::Counter(
      static_cast<double>(kPrompts * sampling.length * state.iterations()), benchmark::Counter::kIsRate);
}

BENCHMARK(output_error)
    ->ArgNames({"law", "L", "collapsed", "threads"})
    ->ArgsProduct({{kGaussian, kSphere}, {10000}, {0, 1}, {1, 2}})
    ->ArgsProduct({{kRademacher}, {10000}, {0}, {1, 2}})
    ->UseRealTime();

}  // namespace
