// The sampling engine: one step of stochastic gradient descent of the published experiment.
#include <benchmark/benchmark.h>

#include <cmath>

#include "largo/prompts/regression_gradient.hpp"
#include "largo/random/streams.hpp"

namespace {

constexpr int kPrompts = 128;

// Covariance 0.5^|i-j|, label noise of variance 0.1, tasks N(0, I/d), scores divided by √(d+1).
largo::RegressionTask published_task(int d) {
  largo::Matrix covariance(d, d);
  for (int i = 0; i < d; ++i) {
    for (int j = 0; j < d; ++j) covariance(i, j) = std::pow(0.5, std::abs(i - j));
  }
  largo::RegressionTask task;
  task.token_root = covariance.llt().matrixL();
  task.query_root = task.token_root;
  task.prior_root = largo::Matrix::Identity(d, d) / std::sqrt(d);
  task.noise_deviation = std::sqrt(0.1);
  task.score_scale = 1 / std::sqrt(d + 1.0);
  return task;
}

largo::Matrix normals(Eigen::Index rows, Eigen::Index columns, std::uint64_t stream) {
  largo::Matrix values(rows, columns);
  largo::Stream(1, stream).normals(0, {values.data(), static_cast<std::size_t>(values.size())});
  return 0.3 * values;
}

void sgd_step(benchmark::State& state) {
  const auto L = state.range(0);
  const auto d = static_cast<int>(state.range(1));
  const auto kernel = state.range(2) == 0 ? largo::PromptKernel::full : largo::PromptKernel::collapsed;
  const int threads = static_cast<int>(state.range(3));
  const largo::RegressionTask task = published_task(d);
  largo::FactoredParameters parameters{normals(d + 1, d + 1, 1), normals(d + 1, d + 1, 2),
                                       normals(d + 1, d + 1, 3), normals(d + 1, 1, 4)};
  std::int64_t first = 0;
  for (auto _ : state) {
    const largo::RegressionGradient gradient = largo::regression_gradient(
        task, parameters.merged(), {first, kPrompts, L, 1, kernel}, {.threads = threads});
    const largo::FactoredParameters slope = largo::factored_gradient(parameters, gradient);
    parameters.K -= 1e-3 * slope.K;
    parameters.Q -= 1e-3 * slope.Q;
    parameters.V -= 1e-3 * slope.V;
    parameters.output -= 1e-3 * slope.output;
    first += kPrompts;
  }
  state.counters["tokens"] =
      benchmark::Counter(static_cast<double>(kPrompts * L * state.iterations()), benchmark::Counter::kIsRate);
}

BENCHMARK(sgd_step)
    ->ArgNames({"L", "d", "collapsed", "threads"})
    ->ArgsProduct({{10, 100, 1000}, {5}, {0, 1}, {1, 2}})
    ->Args({1000, 50, 0, 1})
    ->Args({1000, 50, 1, 1})
    ->UseRealTime();

}  // namespace
