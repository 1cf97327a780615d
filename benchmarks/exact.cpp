// The exact engine: cost of one point, and how much longer a Monte-Carlo estimate of the same number takes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "largo/exact/power_sums.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/numerics/simd_math.hpp"
#include "largo/sampling/streams.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The median over a grid of s in [0, 6] and L in [10, 1e12], as a counter beside the mean.
template <typename Function>
void over_the_grid(benchmark::State& state, const Function& at) {
  std::vector<double> seconds;
  for (auto _ : state) {
    for (double s = 0.1; s <= 6; s += 0.59) {
      for (double L = 10; L <= 1e12; L *= 30) {
        const auto start = Clock::now();
        benchmark::DoNotOptimize(at(s, L));
        seconds.push_back(seconds_since(start));
      }
    }
  }
  std::nth_element(seconds.begin(), seconds.begin() + std::ptrdiff_t(seconds.size() / 2), seconds.end());
  state.counters["median_us"] = 1e6 * seconds[seconds.size() / 2];
}

void power_sums(benchmark::State& state) { over_the_grid(state, largo::power_sum_moments); }
void all_moments(benchmark::State& state) {
  over_the_grid(state, [](double s, double L) { return largo::softmax_moments(s, L); });
}

// E[P_2] by simulation: the time for a relative standard error of 1e-3, from the variance of a pilot run,
// over the time of the exact value.
void monte_carlo(benchmark::State& state) {
  const auto L = static_cast<std::size_t>(state.range(0));
  const double s = static_cast<double>(state.range(1));
  const largo::Stream stream(1, 0);
  std::vector<double> weights(L);
  std::uint64_t first = 0;
  double count = 0, sum = 0, squares = 0, seconds = 0;
  for (auto _ : state) {
    const auto start = Clock::now();
    stream.normals(first, weights);
    first += L;
    for (double& w : weights) w *= s;
    largo::simd::exp(weights, weights);
    double total = 0, total_squares = 0;
    for (const double w : weights) {
      total += w;
      total_squares += w * w;
    }
    seconds += seconds_since(start);
    const double P2 = total_squares / (total * total);
    count += 1;
    sum += P2;
    squares += P2 * P2;
  }
  const double mean = sum / count;
  const double needed = 1e6 * (squares / count - mean * mean) / (mean * mean);
  constexpr int kRepeats = 200;
  const auto start = Clock::now();
  for (int i = 0; i < kRepeats; ++i) benchmark::DoNotOptimize(largo::power_sum_moments(s, double(L)));
  state.counters["prompts_needed"] = needed;
  state.counters["exact_is_faster_by"] = needed * seconds / count / (seconds_since(start) / kRepeats);
}

BENCHMARK(power_sums)->Unit(benchmark::kMillisecond);
BENCHMARK(all_moments)->Unit(benchmark::kMillisecond);
BENCHMARK(monte_carlo)
    ->ArgNames({"L", "s"})
    ->Args({10'000, 1})
    ->Args({10'000, 2})
    ->Args({10'000, 3})
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(20000);

}  // namespace
