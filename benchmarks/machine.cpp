// The ceilings that kernels are measured against: float32 multiply-adds, vector operations of any kind and
// bytes read per second on one core of this machine.
#include <benchmark/benchmark.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace {

// Twelve independent chains of vector multiply-adds, enough to cover the latency of the two units of current
// cores; different values, so that the compiler cannot merge chains.
void float32_multiply_adds(benchmark::State& state) {
  constexpr int kLanes = 8;
  constexpr int kChains = 12;
  constexpr int kRounds = 1000;
  using Vector = float __attribute__((vector_size(4 * kLanes)));
  Vector chain[kChains];
  for (int c = 0; c < kChains; ++c) {
    for (int lane = 0; lane < kLanes; ++lane)
      chain[c][lane] = 1.0F + 0.01F * static_cast<float>(c * kLanes + lane);
  }
  Vector factor = chain[0] * 0 + 0.999F;
  Vector term = chain[0] * 0 + 0.001F;
  benchmark::DoNotOptimize(factor);
  benchmark::DoNotOptimize(term);
  for (auto _ : state) {
    for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 12
      for (int c = 0; c < kChains; ++c) {
#if defined(__FMA__)
        chain[c] = __builtin_ia32_vfmaddps256(chain[c], factor, term);
#else
        chain[c] = chain[c] * factor + term;
#endif
      }
    }
    benchmark::DoNotOptimize(chain);
  }
  state.counters["flops"] =
      benchmark::Counter(2.0 * kLanes * kChains * kRounds, benchmark::Counter::kIsIterationInvariantRate);
}

// Seven chains of multiplications and seven of additions: units that only add work in parallel with those
// that multiply. This is the ceiling of kernels that mix operations.
void vector_operations(benchmark::State& state) {
  constexpr int kLanes = 8;
  constexpr int kChains = 7;
  constexpr int kRounds = 1000;
  using Vector = float __attribute__((vector_size(4 * kLanes)));
  Vector product[kChains], sum[kChains];
  for (int c = 0; c < kChains; ++c) {
    for (int lane = 0; lane < kLanes; ++lane) {
      product[c][lane] = 1.0F + 0.01F * static_cast<float>(c * kLanes + lane);
      sum[c][lane] = product[c][lane];
    }
  }
  Vector factor = product[0] * 0 + 0.9999F;
  Vector term = product[0] * 0 + 0.001F;
  benchmark::DoNotOptimize(factor);
  benchmark::DoNotOptimize(term);
  for (auto _ : state) {
    for (int c = 0; c < kChains; ++c) product[c] = sum[c];  // so that they do not shrink to subnormal numbers
    for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 7
      for (int c = 0; c < kChains; ++c) {
        product[c] = product[c] * factor;
        sum[c] = sum[c] + term;
      }
    }
    benchmark::DoNotOptimize(product);
    benchmark::DoNotOptimize(sum);
  }
  state.counters["operations"] =
      benchmark::Counter(2.0 * kChains * kRounds, benchmark::Counter::kIsIterationInvariantRate);
}

void read_bandwidth(benchmark::State& state) {
  const std::vector<double> memory(32'000'000, 1.0);  // 256 MB, beyond any cache here
  for (auto _ : state) {
    double sums[8] = {};
    for (std::size_t i = 0; i < memory.size(); i += 8) {
      for (std::size_t k = 0; k < 8; ++k) sums[k] += memory[i + k];
    }
    benchmark::DoNotOptimize(sums);
  }
  state.counters["bytes_read"] = benchmark::Counter(static_cast<double>(memory.size()) * sizeof(double),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK(float32_multiply_adds)->Unit(benchmark::kMicrosecond);
BENCHMARK(vector_operations)->Unit(benchmark::kMicrosecond)->UseRealTime();
BENCHMARK(read_bandwidth)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
