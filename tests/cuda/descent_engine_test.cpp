// Descents on a GPU are the CPU's, to the bit: parameters, moments, records and errors.
#include "largo/icl/descent_engine.hpp"

#include <atomic>
#include <cstring>
#include <filesystem>

#include "gpu.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/icl/published_experiment.hpp"
#include "largo/icl/regression_training.hpp"

namespace largo {
namespace {

class GpuDescents : public GpuTest {};

struct Case {
  Eigen::Index d = 5;
  Parametrisation parameters = Parametrisation::factored;
  AttentionKind attention = AttentionKind::softmax;
  Optimiser optimiser = Optimiser::plain;
  std::int64_t length = 100, prompts = 128, steps = 40, record_every = 0;
  double start_scale = 1;
};

std::shared_ptr<const ParameterMap> map_of(const Case& c) {
  if (c.parameters == Parametrisation::factored) return factored_map(c.d);
  return c.parameters == Parametrisation::merged ? identity_map((c.d + 1) * (c.d + 2)) : invariant_map(c.d);
}

Vector start_of(const Case& c) {
  const Vector factored = random_factored_start(c.d, 7);
  if (c.parameters == Parametrisation::factored) return c.start_scale * factored;
  return c.start_scale * factored.head(map_of(c)->size());
}

DescentOptions options_of(const Case& c) {
  DescentOptions options;
  options.optimiser = c.optimiser;
  options.step_size = inverse_time_steps(c.optimiser == Optimiser::plain ? 0.05 : 0.005, 100);
  options.steps = c.steps;
  options.record_every = c.record_every;
  return options;
}

EngineDescent run_of(const Case& c) {
  EngineDescent run;
  run.batches.length = c.length;
  run.batches.prompts = c.prompts;
  run.batches.seed = 11 + static_cast<std::uint64_t>(c.length);
  run.batches.attention = c.attention;
  run.state.parameters = start_of(c);
  return run;
}

DescentState on_cpu(const Case& c) {
  const EngineDescent run = run_of(c);
  const auto risk =
      in_parameters(regression_batches(published_problem(PublishedData::code, c.d), run.batches), map_of(c));
  return descend(*risk, run.state, options_of(c));
}

std::vector<EngineDescent> on_gpu(const Device& device, const std::vector<Case>& cases) {
  std::vector<EngineDescent> runs;
  for (const Case& c : cases) runs.push_back(run_of(c));
  const Case& first = cases.front();
  device.descents().descend(published_problem(PublishedData::code, first.d), first.parameters,
                            options_of(first), runs);
  return runs;
}

bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

void expect_same(const DescentState& cpu, const DescentState& gpu, const std::string& what) {
  EXPECT_EQ(cpu.step, gpu.step) << what;
  EXPECT_EQ(cpu.time, gpu.time) << what;
  EXPECT_TRUE(same_bits(cpu.parameters, gpu.parameters))
      << what << ": parameters differ by " << (cpu.parameters - gpu.parameters).norm();
  EXPECT_TRUE(same_bits(cpu.momentum, gpu.momentum)) << what;
  EXPECT_TRUE(same_bits(cpu.squares, gpu.squares)) << what;
  EXPECT_EQ(cpu.first_loss, gpu.first_loss) << what;
  EXPECT_EQ(cpu.loss_sum, gpu.loss_sum) << what;
  EXPECT_EQ(cpu.loss_count, gpu.loss_count) << what;
  ASSERT_EQ(cpu.records.size(), gpu.records.size()) << what;
  for (std::size_t i = 0; i < cpu.records.size(); ++i) {
    EXPECT_EQ(cpu.records[i].step, gpu.records[i].step) << what;
    EXPECT_EQ(cpu.records[i].time, gpu.records[i].time) << what;
    EXPECT_EQ(cpu.records[i].loss, gpu.records[i].loss) << what << ": record " << i;
    EXPECT_TRUE(same_bits(cpu.records[i].parameters, gpu.records[i].parameters)) << what << ": record " << i;
  }
}

std::string describe(const Case& c) {
  return "d " + std::to_string(c.d) + ", parameters " + std::to_string(static_cast<int>(c.parameters)) +
         ", attention " + std::to_string(static_cast<int>(c.attention)) + ", optimiser " +
         std::to_string(static_cast<int>(c.optimiser)) + ", L " + std::to_string(c.length) + ", prompts " +
         std::to_string(c.prompts) + ", scale " + std::to_string(c.start_scale);
}

void expect_all_same(const Device& device, const std::vector<Case>& cases) {
  const std::vector<EngineDescent> runs = on_gpu(device, cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(runs[i].error, nullptr) << describe(cases[i]);
    expect_same(on_cpu(cases[i]), runs[i].state, describe(cases[i]));
  }
}

TEST_F(GpuDescents, OfEveryLengthHaveTheBitsOfTheCpu) {
  std::vector<Case> cases;
  for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
    for (const std::int64_t L : {1, 2, 9, 10, 31, 33, 64, 100, 511, 512, 513, 1000, 2500}) {
      cases.push_back({.attention = kind, .length = L, .record_every = 7});
    }
  }
  expect_all_same(device(), cases);
}

TEST_F(GpuDescents, AloneUseSeveralBlocksAndHaveTheSameBits) {
  for (const std::int64_t L : {3, 1000, 5000}) expect_all_same(device(), {{.length = L, .steps = 20}});
}

TEST_F(GpuDescents, OfEveryKindHaveTheBitsOfTheCpu) {
  for (const Parametrisation parameters :
       {Parametrisation::invariant, Parametrisation::merged, Parametrisation::factored}) {
    for (const Optimiser optimiser : {Optimiser::plain, Optimiser::momentum, Optimiser::adam}) {
      std::vector<Case> cases;
      for (const AttentionKind kind : {AttentionKind::softmax, AttentionKind::linear}) {
        cases.push_back({.parameters = parameters,
                         .attention = kind,
                         .optimiser = optimiser,
                         .length = 50,
                         .prompts = 24,
                         .steps = 15});
      }
      expect_all_same(device(), cases);
    }
  }
}

TEST_F(GpuDescents, OfEveryDimensionAndBatchHaveTheBitsOfTheCpu) {
  for (const Eigen::Index d : {1, 2, 6, 7, 8, 15, 16, 20, 31}) {
    for (const std::int64_t prompts : {1, 5, 8, 37}) {
      expect_all_same(
          device(),
          {{.d = d, .length = 30, .prompts = prompts, .steps = 6},
           {.d = d, .attention = AttentionKind::linear, .length = 30, .prompts = prompts, .steps = 6}});
    }
  }
}

TEST_F(GpuDescents, OfLargeScoresHaveTheBitsOfTheCpu) {
  for (const double scale : {3.0, 8.0, 30.0}) {
    Case c{.parameters = Parametrisation::merged,
           .length = 1300,
           .prompts = 24,
           .steps = 3,
           .start_scale = scale};
    expect_all_same(device(), {c});
  }
}

TEST_F(GpuDescents, RecordEveryStepWithoutRunningOutOfRoom) {
  expect_all_same(device(), {{.length = 5, .prompts = 3, .steps = 700, .record_every = 1}});
}

TEST_F(GpuDescents, GoOnFromACheckpointOfEither) {
  const Case whole{.length = 20, .steps = 60, .record_every = 5};
  Case half = whole;
  half.steps = 23;
  std::vector<EngineDescent> runs = on_gpu(device(), {half});
  // descend() records the end of a run; one that is taken up again has not ended.
  runs[0].state.records.pop_back();
  runs[0].state.loss_sum = 0;
  DescentState cpu = on_cpu(half);
  cpu.records.pop_back();
  cpu.loss_sum = 0;
  const auto risk = in_parameters(
      regression_batches(published_problem(PublishedData::code, whole.d), runs[0].batches), map_of(whole));
  const DescentState cpu_end = descend(*risk, cpu, options_of(whole));
  device().descents().descend(published_problem(PublishedData::code, whole.d), whole.parameters,
                              options_of(whole), runs);
  expect_same(cpu_end, runs[0].state, "from step 23");
}

TEST_F(GpuDescents, DivergeAtTheStepAndWithTheWordsOfTheCpu) {
  Case c{.parameters = Parametrisation::merged, .length = 10, .prompts = 8, .steps = 400};
  DescentOptions options = options_of(c);
  options.step_size = constant_steps(300);
  const auto problem = published_problem(PublishedData::code, c.d);
  std::string cpu;
  try {
    descend(*regression_batches(problem, run_of(c).batches), run_of(c).state, options);
  } catch (const Diverged& error) {
    cpu = error.what();
  }
  ASSERT_FALSE(cpu.empty());
  std::vector<EngineDescent> runs{run_of(c)};
  device().descents().descend(problem, c.parameters, options, runs);
  ASSERT_NE(runs[0].error, nullptr);
  try {
    std::rethrow_exception(runs[0].error);
  } catch (const Diverged& error) {
    EXPECT_EQ(cpu, error.what());
  }
}

TEST_F(GpuDescents, StopOnRequestAndSaveTheirState) {
  const Case c{.length = 100, .steps = 1 << 30};
  const auto file = std::filesystem::temp_directory_path() / "largo-gpu-descent.safetensors";
  std::filesystem::remove(file);
  std::atomic<bool> stop = false;
  DescentOptions options = options_of(c);
  options.execution.stop = &stop;
  options.progress = [&](double) { stop = true; };
  std::vector<EngineDescent> runs{run_of(c)};
  runs[0].checkpoint = file;
  EXPECT_THROW(
      device().descents().descend(published_problem(PublishedData::code, c.d), c.parameters, options, runs),
      Stopped);
  const DescentState saved = load_descent(file);
  EXPECT_GT(saved.step, 0);
  Case same = c;
  same.steps = saved.step;
  EXPECT_TRUE(same_bits(on_cpu(same).parameters, saved.parameters));
  std::filesystem::remove(file);
}

TEST_F(GpuDescents, RefuseWhatTheyCannotDo) {
  Case large{.d = 32, .length = 4, .prompts = 2, .steps = 1};
  EXPECT_THROW(on_gpu(device(), {large}), InputError);
  std::vector<EngineDescent> runs{run_of({})};
  runs[0].batches.kernel = PromptKernel::full;
  EXPECT_THROW(device().descents().descend(published_problem(PublishedData::code, 5),
                                           Parametrisation::factored, options_of({}), runs),
               InputError);
}

}  // namespace
}  // namespace largo
