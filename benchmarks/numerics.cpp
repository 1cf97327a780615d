// Elementary functions and random numbers per element, compared with the C library's scalar ones.
#include <benchmark/benchmark.h>

#include <cmath>
#include <span>
#include <vector>

#include "largo/random/streams.hpp"
#include "numerics/log_sum_exp.hpp"
#include "numerics/simd_math.hpp"

namespace {

constexpr std::size_t kCount = 4096;

std::vector<double> uniforms() {
  std::vector<double> draws(kCount);
  largo::Stream(1, 0).uniforms(0, draws);
  return draws;
}

template <typename Function>
void each(benchmark::State& state, Function function) {
  const std::vector<double> x = uniforms();
  std::vector<double> y(kCount);
  for (auto _ : state) {
    function(x, y);
    benchmark::DoNotOptimize(y.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kCount));
}

using In = std::span<const double>;
using Out = std::span<double>;

void libm_exp(In x, Out y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::exp(x[i]);
}
void libm_log(In x, Out y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = std::log(x[i]);
}

BENCHMARK_CAPTURE(each, largo_exp, [](In x, Out y) { largo::numerics::exp(x, y); });
BENCHMARK_CAPTURE(each, libm_exp, libm_exp);
BENCHMARK_CAPTURE(each, largo_log, [](In x, Out y) { largo::numerics::log(x, y); });
BENCHMARK_CAPTURE(each, libm_log, libm_log);
BENCHMARK_CAPTURE(each, largo_normal_inverse, [](In x, Out y) { largo::numerics::normal_inverse(x, y); });
BENCHMARK_CAPTURE(each, largo_uniforms, [](In, Out y) { largo::Stream(1, 0).uniforms(0, y); });
BENCHMARK_CAPTURE(each, largo_normals, [](In, Out y) { largo::Stream(1, 0).normals(0, y); });
BENCHMARK_CAPTURE(each, largo_log_sum_exp, [](In x, Out y) { y[0] = largo::numerics::log_sum_exp(x); });

}  // namespace
