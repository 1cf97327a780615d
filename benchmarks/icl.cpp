// In-context regression: exact risks and flows, whose cost should not depend on L, and steps of descent.
#include <benchmark/benchmark.h>

#include <cmath>

#include "largo/icl/general_risk.hpp"
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/regression_batches.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/threshold.hpp"

namespace {

using largo::AttentionKind;
using largo::Matrix;
using largo::Vector;

// A has no symmetry and changes each time, so that the rules for the spread of the scores are made anew.
void invariant_risk(benchmark::State& state) {
  const auto d = static_cast<Eigen::Index>(state.range(0));
  const double L = std::pow(10.0, static_cast<double>(state.range(1)));
  const largo::RegressionProblem problem = published_problem(largo::PublishedData::paper, d);
  const auto risk = largo::invariant_risk(problem, AttentionKind::softmax, L);
  Vector parameters = Vector::LinSpaced(d * d + 1, -0.1, 1);
  for (Eigen::Index j = 0; j < d; ++j) parameters[j * d + j] += 0.3 * static_cast<double>(j + 1);
  risk->at(parameters);  // fills the table for L
  for (auto _ : state) {
    parameters[0] += 1e-6;
    benchmark::DoNotOptimize(risk->at(parameters));
  }
}
BENCHMARK(invariant_risk)->ArgNames({"d", "log10_L"})->ArgsProduct({{2, 5, 10}, {2, 6, 12}});

void general_risk(benchmark::State& state) {
  const double L = std::pow(10.0, static_cast<double>(state.range(0)));
  const auto risk =
      in_parameters(largo::general_risk(published_problem(largo::PublishedData::paper),
                                        AttentionKind::softmax, L, {.count = 1024}, {.threads = 1}),
                    largo::factored_map(5));
  const Vector parameters = largo::random_factored_start(5, 1);
  for (auto _ : state) benchmark::DoNotOptimize(risk->at(parameters));
}
BENCHMARK(general_risk)->ArgName("log10_L")->Arg(2)->Arg(6)->Arg(12);

void planar_flow(benchmark::State& state) {
  const double L = std::pow(10.0, static_cast<double>(state.range(0)));
  const largo::RegressionProblem problem = largo::paper_problem(Matrix::Identity(5, 5));
  const largo::InvariantPoint start = paper_start(problem, 0.5);
  for (auto _ : state) {
    benchmark::DoNotOptimize(regression_flow(problem, AttentionKind::softmax, L, start, {}, {.threads = 1}));
  }
}
BENCHMARK(planar_flow)->ArgName("log10_L")->Arg(2)->Arg(6)->Arg(12)->Unit(benchmark::kMillisecond);

void descent_step(benchmark::State& state) {
  largo::RegressionBatches batches;
  batches.length = state.range(0);
  batches.attention = state.range(1) == 0 ? AttentionKind::softmax : AttentionKind::linear;
  const auto risk = in_parameters(regression_batches(published_problem(largo::PublishedData::paper), batches),
                                  largo::factored_map(5));
  const Vector parameters = largo::random_factored_start(5, 1);
  std::int64_t step = 0;
  for (auto _ : state) benchmark::DoNotOptimize(risk->batch(parameters, step++));
}
BENCHMARK(descent_step)->ArgNames({"L", "linear"})->ArgsProduct({{10, 100, 1000}, {0, 1}});

}  // namespace
