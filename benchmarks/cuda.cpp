// Measures a GPU against the CPU of the same machine: one JSON object per line, for
// benchmarks/compare_cuda.py.
//
//   benchmark_cuda train L RUNS STEPS        descents of the published experiment at one length, softmax only
//   benchmark_cuda laws L RUNS STEPS         descents over covariates on a sphere and of coins
//   benchmark_cuda sweep STEPS SEEDS         all of its lengths and both kinds of attention
//   benchmark_cuda sample L PROMPTS THREADS  errors over sampled prompts, d = 16, on GPU and CPU
//   benchmark_cuda attend L QUERIES          attention over given float32 tokens, d = 16, on GPU and CPU
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "icl/training/descent_engine.hpp"
#include "largo/attention/attention.hpp"
#include "largo/cuda/cuda_device.hpp"
#include "largo/estimation/attention_errors.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/loss.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/measures/product.hpp"
#include "largo/measures/sphere.hpp"

namespace {

constexpr Eigen::Index kDimension = 5;

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

largo::icl::RegressionDescent run_of(std::int64_t L, largo::AttentionKind attention, std::uint64_t seed) {
  largo::icl::RegressionDescent run;
  run.batches = {.length = L, .prompts = 128, .seed = seed, .attention = attention, .loss_factor = 1};
  run.state.parameters = largo::random_factored_start(kDimension, seed);
  return run;
}

double train(const largo::Device& device, std::vector<largo::icl::RegressionDescent> runs, std::int64_t steps,
             largo::Parametrisation parameters = largo::Parametrisation::factored) {
  largo::DescentOptions options;
  options.step_size = largo::constant_steps(0.01);
  options.steps = steps;
  options.record_every = std::max<std::int64_t>(1, steps / 100);
  const auto problem = largo::published_problem(largo::PublishedData::code, kDimension);
  return seconds_of([&] {
    largo::engine_of<largo::icl::DescentEngine>(device).descend(problem, parameters, options, runs);
  });
}

void train_one_length(const largo::Device& device, std::int64_t L, std::int64_t count, std::int64_t steps) {
  std::vector<largo::icl::RegressionDescent> runs;
  for (std::int64_t i = 0; i < count; ++i) {
    runs.push_back(run_of(L, largo::AttentionKind::softmax, static_cast<std::uint64_t>(i + 1)));
  }
  train(device, runs, std::min<std::int64_t>(steps, 32));  // the first launch loads the kernels
  const double seconds = train(device, runs, steps);
  const double tokens =
      128.0 * static_cast<double>(L) * static_cast<double>(count) * static_cast<double>(steps);
  fmt::print(
      "{{\"train\": {{\"L\": {}, \"runs\": {}, \"steps\": {}, \"seconds\": {:.4f}, \"step_us\": {:.2f}, "
      "\"Mtokens_per_s\": {:.1f}}}}}\n",
      L, count, steps, seconds, seconds / static_cast<double>(steps) * 1e6, tokens / seconds * 1e-6);
}

// The problem of benchmarks/compare_tasks.py.
void train_laws(const largo::Device& device, std::int64_t L, std::int64_t count, std::int64_t steps) {
  for (const std::string law : {"sphere:radius=2.2360679774997896", "rademacher"}) {
    const auto task = std::make_shared<largo::LawRegression>(largo::RegressionLaws{
        largo::named_law(law, kDimension), {}, {}, largo::named_law("gaussian:cov=0.1*identity", 1)});
    std::vector<largo::icl::RegressionDescent> runs;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto seed = static_cast<std::uint64_t>(i + 1);
      runs.push_back(run_of(L, largo::AttentionKind::softmax, seed));
      runs.back().prompts = {
          task, largo::squared_loss(), static_cast<double>(L), largo::AttentionKind::softmax, 1, seed};
      constexpr Eigen::Index n = kDimension + 1;
      runs.back().state.parameters = largo::Vector::Zero(n * n + n);
      for (Eigen::Index k = 0; k < kDimension; ++k) runs.back().state.parameters[k * n + k] = 1;
      runs.back().state.parameters[n * n + kDimension] = 1;
    }
    train(device, runs, std::min<std::int64_t>(steps, 32), largo::Parametrisation::merged);
    const double seconds = train(device, runs, steps, largo::Parametrisation::merged);
    const double tokens =
        128.0 * static_cast<double>(L) * static_cast<double>(count) * static_cast<double>(steps);
    fmt::print(
        "{{\"laws\": {{\"law\": \"{}\", \"L\": {}, \"runs\": {}, \"step_us\": {:.2f}, \"Mtokens_per_s\": "
        "{:.1f}}}}}\n",
        law.substr(0, law.find(':')), L, count, seconds / static_cast<double>(steps) * 1e6,
        tokens / seconds * 1e-6);
  }
}

void sweep(const largo::Device& device, std::int64_t steps, std::int64_t seeds) {
  std::vector<largo::icl::RegressionDescent> runs;
  double tokens = 0;
  for (std::int64_t seed = 1; seed <= seeds; ++seed) {
    for (const auto attention : {largo::AttentionKind::softmax, largo::AttentionKind::linear}) {
      for (const double L : largo::published_lengths()) {
        runs.push_back(run_of(static_cast<std::int64_t>(L), attention, static_cast<std::uint64_t>(seed)));
        tokens += 128 * L * static_cast<double>(steps);
      }
    }
  }
  const double seconds = train(device, runs, steps);
  fmt::print(
      "{{\"sweep\": {{\"runs\": {}, \"steps\": {}, \"seconds\": {:.3f}, \"Mtokens_per_s\": {:.1f}}}}}\n",
      runs.size(), steps, seconds, tokens / seconds * 1e-6);
}

void sample(const largo::Device& device, std::int64_t L, std::int64_t prompts, int threads) {
  const largo::Matrix I = largo::Matrix::Identity(16, 16);
  const largo::Vector query = largo::Vector::Constant(16, 0.25);
  const std::pair<const char*, largo::MeasurePtr> laws[] = {
      {"rademacher", std::make_shared<largo::ProductMeasure>(16, largo::rademacher())},
      {"sphere", std::make_shared<largo::SphereMeasure>(16, 4)},
      {"gaussian, collapsed",
       std::make_shared<largo::GaussianMeasure>(largo::GaussianMeasure::standard(16))}};
  for (const auto& [name, law] : laws) {
    for (const bool gradient_U : {false, true}) {
      largo::ErrorSampling sampling;
      sampling.length = L;
      sampling.plan.use_controls = false;
      sampling.gradient_U = gradient_U;
      if (std::string(name).starts_with("gaussian")) sampling.kernel = largo::PromptKernel::collapsed;
      const auto rate = [&](const largo::Execution& execution, std::int64_t count) {
        sampling.plan.samples = count;
        double value = 0;
        const double seconds = seconds_of([&] {
          value = largo::sample_attention_errors(*law, I, I, query, sampling, execution).output.value;
        });
        return std::pair(static_cast<double>(count * L) / seconds * 1e-6, value);
      };
      rate({.device = &device}, 64);
      const auto [gpu, gpu_value] = rate({.device = &device}, prompts);
      const auto [cpu, cpu_value] = rate({.threads = threads}, std::max<std::int64_t>(2, prompts / 512));
      const auto same = rate({.device = &device}, std::max<std::int64_t>(2, prompts / 512)).second;
      fmt::print(
          "{{\"sample\": {{\"law\": \"{}\", \"gradient_U\": {}, \"L\": {}, \"prompts\": {}, "
          "\"Mtokens_per_s\": {:.1f}, \"cpu_threads\": {}, \"cpu_Mtokens_per_s\": {:.1f}, \"ratio\": {:.1f}, "
          "\"same_bits\": {}, \"output_error\": {:.9g}}}}}\n",
          name, gradient_U, L, prompts, gpu, threads, cpu, gpu / cpu, same == cpu_value, gpu_value);
    }
  }
}

void attend_prompt(const largo::Device& device, std::int64_t L, std::int64_t count) {
  std::vector<float> tokens(static_cast<std::size_t>(16 * L));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<float>((i * 2654435761U) % 2000003) * 1e-6F - 1;
  }
  const largo::ArrayView view{tokens.data(), largo::Scalar::float32, L, 16, 16, 1};
  const largo::EmpiricalMeasure prompt(view);
  const largo::Matrix I = largo::Matrix::Identity(16, 16);
  largo::RowMatrix queries(count, 16);
  for (std::int64_t q = 0; q < count; ++q) queries.row(q).setConstant(0.1 * static_cast<double>(q + 1));
  const largo::MergedWeights weights{I, I, 1};
  largo::RowMatrix gpu_output, cpu_output;
  const auto attend = [&](const largo::Execution& execution, largo::RowMatrix& output) {
    return seconds_of(
        [&] { output = largo::attend(largo::AttentionKind::softmax, prompt, weights, queries, execution); });
  };
  attend({.device = &device}, gpu_output);
  const double gpu = attend({.device = &device}, gpu_output), cpu = attend({}, cpu_output);
  fmt::print(
      "{{\"attend\": {{\"L\": {}, \"queries\": {}, \"GB\": {:.2f}, \"seconds\": {:.4f}, \"cpu_seconds\": "
      "{:.4f}, "
      "\"largest_difference\": {:.2g}}}}}\n",
      L, count, static_cast<double>(tokens.size()) * 4e-9, gpu, cpu,
      (gpu_output - cpu_output).cwiseAbs().maxCoeff());
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) { return std::stoll(arguments.at(i)); };
  const std::unique_ptr<largo::Device> device = largo::open_cuda_device();
  if (arguments.at(0) == "train") train_one_length(*device, number(1), number(2), number(3));
  if (arguments.at(0) == "laws") train_laws(*device, number(1), number(2), number(3));
  if (arguments.at(0) == "sweep") sweep(*device, number(1), number(2));
  if (arguments.at(0) == "sample") sample(*device, number(1), number(2), static_cast<int>(number(3)));
  if (arguments.at(0) == "attend") attend_prompt(*device, number(1), number(2));
  return 0;
} catch (const std::out_of_range&) {
  std::cerr << "benchmark_cuda train L RUNS STEPS | laws L RUNS STEPS | sweep STEPS SEEDS | sample L PROMPTS "
               "THREADS | attend L QUERIES\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << "benchmark_cuda: " << error.what() << '\n';
  return 2;
}
