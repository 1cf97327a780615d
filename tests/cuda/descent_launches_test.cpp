// Descents that take many launches, start at different steps, are saved on the way, or end early.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "gpu_descents.hpp"
#include "icl/same_runs.hpp"

namespace largo {
namespace {

// There are more records than one launch holds.
TEST_F(GpuDescents, RecordEveryStepWithoutRunningOutOfRoom) {
  const Case c{.length = 5, .prompts = 3, .steps = usual_or_short(700, 270), .record_every = 1};
  const std::vector<icl::RegressionDescent> runs = on_gpu(device(), {c});
  ASSERT_EQ(runs[0].error, nullptr);
  expect_same(on_cpu(c), runs[0].state, describe(c));
}

TEST_F(GpuDescents, GoOnFromACheckpointOfEither) {
  const Case whole{
      .length = 20, .prompts = usual_or_short(128, 29), .steps = usual_or_short(60, 12), .record_every = 5};
  Case half = whole;
  half.steps = usual_or_short(23, 7);
  std::vector<icl::RegressionDescent> runs = on_gpu(device(), {half});
  // descend() records the end of a run, and a run that is resumed has not ended.
  runs[0].state.records.pop_back();
  runs[0].state.loss_sum = 0;
  DescentState cpu = on_cpu(half);
  cpu.records.pop_back();
  cpu.loss_sum = 0;
  const auto risk = in_parameters(
      regression_batches(published_problem(PublishedData::code, whole.d), runs[0].batches), map_of(whole));
  const DescentState cpu_end = descend(*risk, cpu, options_of(whole));
  engine_of<icl::DescentEngine>(device()).descend(published_problem(PublishedData::code, whole.d),
                                                  whole.parameters, options_of(whole), runs);
  expect_same(cpu_end, runs[0].state, "from a step on the way");
}

// A state of the CPU after `steps` steps, as a checkpoint holds it: descend() records the end of a run, and
// this run has not ended.
DescentState on_the_way(Case c, std::int64_t steps) {
  if (steps == 0) return run_of(c).state;
  c.steps = steps;
  DescentState state = on_cpu(c);
  if (state.records.back().step % c.record_every != 0) state.records.pop_back();
  return state;
}

TEST_F(GpuDescents, GoOnTogetherFromDifferentSteps) {
  const std::int64_t end = usual_or_short(300, 24);
  const Case first{.optimizer = Optimizer::momentum,
                   .length = 30,
                   .prompts = usual_or_short(64, 9),
                   .steps = end,
                   .record_every = 4};
  std::vector<Case> cases;
  std::vector<icl::RegressionDescent> runs;
  std::vector<DescentState> cpu;
  const auto problem = published_problem(PublishedData::code, first.d);
  const std::int64_t starts[] = {0, end / 3, 1, end, end - 1, end / 2};
  for (const std::int64_t start : starts) {
    Case c = first;
    c.seed = 100 + static_cast<std::uint64_t>(start);
    c.attention = start % 2 == 0 ? AttentionKind::softmax : AttentionKind::linear;
    icl::RegressionDescent run = run_of(c);
    run.state = on_the_way(c, start);
    const auto risk = in_parameters(regression_batches(problem, run.batches), map_of(c));
    cpu.push_back(descend(*risk, run.state, options_of(c)));
    runs.push_back(run);
    cases.push_back(c);
  }
  engine_of<icl::DescentEngine>(device()).descend(problem, first.parameters, options_of(first), runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ASSERT_EQ(runs[i].error, nullptr);
    expect_same(cpu[i], runs[i].state, "from step " + std::to_string(starts[i]));
  }
}

// CPU and GPU must report the same reason and step for a descent that ends early.
void expect_same_end(const Device& device, const Case& c, const DescentOptions& options,
                     const std::string& reason) {
  const auto problem = published_problem(PublishedData::code, c.d);
  std::string cpu;
  try {
    descend(*in_parameters(regression_batches(problem, run_of(c).batches), map_of(c)), run_of(c).state,
            options);
  } catch (const Diverged& error) {
    cpu = error.what();
  }
  ASSERT_NE(cpu.find(reason), std::string::npos) << cpu;
  std::vector<icl::RegressionDescent> runs{run_of(c)};
  engine_of<icl::DescentEngine>(device).descend(problem, c.parameters, options, runs);
  ASSERT_NE(runs[0].error, nullptr);
  try {
    std::rethrow_exception(runs[0].error);
  } catch (const Diverged& error) {
    EXPECT_EQ(cpu, error.what());
  }
}

TEST_F(GpuDescents, DivergeAtTheStepAndWithTheWordsOfTheCpu) {
  const Case c{.parameters = Parametrisation::merged, .length = 10, .prompts = 8, .steps = 400};
  DescentOptions options = options_of(c);
  options.step_size = constant_steps(300);
  expect_same_end(device(), c, options, "diverged at step");
}

TEST_F(GpuDescents, EndWhereParametersAreNoLongerFinite) {
  const Case c{
      .parameters = Parametrisation::merged, .length = 10, .prompts = 8, .steps = 40, .start_scale = 20};
  DescentOptions options = options_of(c);
  options.step_size = [](std::int64_t k) { return k == 3 ? 1.7e308 : 1e-6; };
  expect_same_end(device(), c, options, "diverged at step 3: the parameters are no longer finite");
}

TEST_F(GpuDescents, StopOnRequestAndSaveTheirState) {
  const Case c{.length = usual_or_short(100, 10), .prompts = usual_or_short(128, 9), .steps = 1 << 30};
  const auto file = std::filesystem::temp_directory_path() / "largo-gpu-descent.safetensors";
  std::filesystem::remove(file);
  std::atomic<bool> stop = false;
  DescentOptions options = options_of(c);
  options.execution.stop = &stop;
  options.progress = [&](double) { stop = true; };
  std::vector<icl::RegressionDescent> runs{run_of(c)};
  runs[0].checkpoint = file;
  EXPECT_THROW(engine_of<icl::DescentEngine>(device()).descend(published_problem(PublishedData::code, c.d),
                                                               c.parameters, options, runs),
               Stopped);
  const DescentState saved = load_descent(file);
  EXPECT_GT(saved.step, 0);
  Case same = c;
  same.steps = saved.step;
  EXPECT_TRUE(same_bits(on_cpu(same).parameters, saved.parameters));
  std::filesystem::remove(file);
}

TEST_F(GpuDescents, AreSavedWhenAnotherFails) {
  const Case sound{.attention = AttentionKind::linear, .length = 10, .prompts = 8, .steps = 1 << 20};
  Case wild = sound;
  wild.start_scale = 50;
  const auto file = std::filesystem::temp_directory_path() / "largo-gpu-other.safetensors";
  std::filesystem::remove(file);
  std::vector<icl::RegressionDescent> runs{run_of(wild), run_of(sound)};
  runs[1].checkpoint = file;
  engine_of<icl::DescentEngine>(device()).descend(published_problem(PublishedData::code, sound.d),
                                                  sound.parameters, options_of(sound), runs);
  EXPECT_NE(runs[0].error, nullptr);
  EXPECT_EQ(runs[1].error, nullptr);
  const DescentState saved = load_descent(file);
  EXPECT_GT(saved.step, 0);
  EXPECT_LT(saved.step, sound.steps);
  EXPECT_TRUE(same_bits(saved.parameters, runs[1].state.parameters));
  std::filesystem::remove(file);
}

std::map<std::string, std::string> files_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return files;
}

// States are saved fifty times on the way, each time after a launch of its own.
TEST_F(GpuDescents, AreTrainedAndSavedOverManyLaunchesAsOnTheCpu) {
  const auto folder = std::filesystem::temp_directory_path() / "largo-gpu-launches";
  std::filesystem::remove_all(folder);
  TrainingPlan plan;
  plan.problem = published_problem(PublishedData::paper, 3);
  plan.parameters = Parametrisation::factored;
  plan.random_start = [](std::uint64_t seed) { return random_factored_start(3, seed); };
  plan.start = plan.random_start(1);
  plan.attention = {AttentionKind::softmax, AttentionKind::linear};
  plan.lengths = {5, 40};
  plan.methods = {TrainingMethod::descent};
  plan.nodes.count = 8;
  plan.flow.end = 0.1;
  plan.flow.relative_tolerance = 1e-3;
  plan.descent.steps = usual_or_short(1110, 55);
  plan.descent.record_every = 7;  // so that states are saved between two records
  plan.descent.step_size = constant_steps(0.01);
  plan.batches.prompts = 9;
  plan.seeds = 2;
  plan.checkpoints = folder / "cpu";
  const std::vector<TrainingRun> cpu = train(plan);
  plan.checkpoints = folder / "gpu";
  test::expect_same(cpu, train(plan, {.device = &device()}));
  EXPECT_EQ(files_in(folder / "cpu").size(), 8U);
  EXPECT_EQ(files_in(folder / "cpu"), files_in(folder / "gpu"));
  // The training is stopped on the GPU and finished on the CPU.
  plan.checkpoints = folder / "both";
  std::atomic<bool> stop = false;
  plan.progress = [&](double share) { stop = stop || share > 0.3; };
  EXPECT_THROW(train(plan, {.stop = &stop, .device = &device()}), Stopped);
  plan.progress = {};
  test::expect_same(cpu, train(plan));
  EXPECT_EQ(files_in(folder / "cpu"), files_in(folder / "both"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace largo
