// The exact engine: cost of one point, and how much longer a Monte-Carlo estimate of the same number takes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "largo/exact/power_sums.hpp"
#include "largo/exact/query_average.hpp"
#include "largo/exact/softmax_moments.hpp"
#include "largo/exact/softmax_table.hpp"
#include "largo/random/streams.hpp"
#include "numerics/simd_math.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The median time over a grid of s in [0, 6] and L in [10, 1e12], as a counter beside the mean.
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
// divided by the time of the exact value.
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
    largo::numerics::exp(weights, weights);
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

// A new table for all s <= 10, on one core.
void fill_table(benchmark::State& state) {
  const auto L = std::pow(10.0, static_cast<double>(state.range(0)));
  for (auto _ : state) {
    const largo::SoftmaxTable table(L);
    table.fill(10, {.threads = 1});
    benchmark::DoNotOptimize(table(1));
  }
}

// All fields at random s <= 10, and how much longer the moments themselves take.
void read_table(benchmark::State& state) {
  const largo::SoftmaxTable table(1e6);
  table.fill(10);
  std::vector<double> spreads(1 << 12);
  largo::Stream(1, 0).uniforms(0, spreads);
  for (double& s : spreads) s *= 10;
  std::size_t i = 0;
  const auto start = Clock::now();
  for (auto _ : state) {
    benchmark::DoNotOptimize(table(spreads[i]));
    i = (i + 1) % spreads.size();
  }
  const double table_seconds = seconds_since(start) / static_cast<double>(state.iterations());
  const auto direct = Clock::now();
  constexpr int kRepeats = 200;
  for (std::size_t k = 0; k < kRepeats; ++k)
    benchmark::DoNotOptimize(largo::softmax_moments(spreads[k], 1e6));
  state.counters["faster_by"] = seconds_since(direct) / kRepeats / table_seconds;
}

// The error averaged over Gaussian queries, and how much longer it takes to average the errors of random
// queries, by the same table, to a standard error of 1e-3. (With Γ = V = I the error at z needs s = |Uz|
// alone.)
void query_average(benchmark::State& state) {
  const auto d = static_cast<Eigen::Index>(state.range(0));
  constexpr double kL = 1e4;
  largo::Matrix U(d, d);
  largo::Stream(1, 0).normals(0, {U.data(), static_cast<std::size_t>(U.size())});
  U /= std::sqrt(static_cast<double>(d));
  const largo::Matrix identity = largo::Matrix::Identity(d, d);
  const auto start = Clock::now();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        largo::averaged_attention_error(identity, U, identity, largo::Vector::Zero(d), identity, kL));
  }
  const double exact_seconds = seconds_since(start) / static_cast<double>(state.iterations());
  const auto table = largo::SoftmaxTable::shared(kL);
  double sum = 0, squares = 0;
  constexpr int kQueries = 200'000;
  largo::Vector z(d), a(d);
  const auto sampling = Clock::now();
  for (std::uint64_t i = 0; i < kQueries; ++i) {
    largo::Stream(1, 1).normals(i * static_cast<std::uint64_t>(d), {z.data(), static_cast<std::size_t>(d)});
    a.noalias() = U * z;
    const largo::SoftmaxStatistics m = (*table)(a.norm());
    const double error = m.P2 * static_cast<double>(d - 1) + m.mse;
    sum += error / kQueries;
    squares += error * error / kQueries;
  }
  const double needed = 1e6 * (squares - sum * sum) / (sum * sum);
  state.counters["queries_needed"] = needed;
  state.counters["faster_by"] = needed * seconds_since(sampling) / kQueries / exact_seconds;
}

BENCHMARK(power_sums)->Unit(benchmark::kMillisecond);
BENCHMARK(all_moments)->Unit(benchmark::kMillisecond);
BENCHMARK(fill_table)->ArgName("log10_L")->Arg(2)->Arg(6)->Arg(12)->Unit(benchmark::kMillisecond);
BENCHMARK(read_table);
BENCHMARK(query_average)->ArgName("d")->Arg(2)->Arg(5)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(monte_carlo)
    ->ArgNames({"L", "s"})
    ->Args({10'000, 1})
    ->Args({10'000, 2})
    ->Args({10'000, 3})
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(20000);

}  // namespace
