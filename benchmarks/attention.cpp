// Attention over a given prompt, on one core unless the name says otherwise: output, and output with tilted
// covariance. compare_attention.py runs this beside NumPy and PyTorch.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "largo/attention/attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/random/streams.hpp"

namespace {

using largo::ArrayView;
using largo::EmpiricalMeasure;
using largo::Matrix;
using largo::Scalar;
using largo::TiltOrder;

template <typename T>
std::vector<T> normals(std::size_t count, std::uint64_t stream) {
  std::vector<double> draws(count);
  largo::Stream(1, stream).normals(0, draws);
  return {draws.begin(), draws.end()};
}

template <typename T>
void tilts(benchmark::State& state, TiltOrder order) {
  const std::int64_t L = state.range(0);
  const std::int64_t d = state.range(1);
  const std::int64_t queries = state.range(2);
  const largo::Execution execution{static_cast<int>(state.range(3)), 0};
  const auto tokens = normals<T>(static_cast<std::size_t>(L * d), 0);
  const EmpiricalMeasure prompt(
      ArrayView{tokens.data(), sizeof(T) == 4 ? Scalar::float32 : Scalar::float64, L, d, d, 1});
  const auto draws = normals<double>(static_cast<std::size_t>(d * queries), 1);
  const Matrix directions = 0.2 * Eigen::Map<const Matrix>(draws.data(), d, queries);
  for (auto _ : state) benchmark::DoNotOptimize(prompt.tilts(directions, order, execution));

  // Multiply-adds: scores and first moments, and for the covariance d(d+1)/2 products. One exponential per
  // score is not counted.
  const std::int64_t per_score = 2 * d + (order == TiltOrder::covariance ? d * (d + 1) / 2 : 0);
  state.counters["flops"] = benchmark::Counter(2 * static_cast<double>(per_score * L * queries),
                                               benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes_read"] = benchmark::Counter(static_cast<double>(L * d) * sizeof(T),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

void output_float32(benchmark::State& state) { tilts<float>(state, TiltOrder::mean); }
void covariance_float32(benchmark::State& state) { tilts<float>(state, TiltOrder::covariance); }
void output_float64(benchmark::State& state) { tilts<double>(state, TiltOrder::mean); }

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"L", "d", "queries", "threads"})
      ->Args({1'000'000, 16, 8, 1})
      ->Args({100'000, 64, 64, 1})
      ->Args({1'000'000, 16, 1, 1})
      ->Args({1'000'000, 16, 8, 2})
      ->Args({100'000, 64, 64, 2})
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime();
}

BENCHMARK(output_float32)->Apply(sizes);
BENCHMARK(covariance_float32)->Apply(sizes);
BENCHMARK(output_float64)->Apply(sizes);

}  // namespace
