// Descents on a GPU, and the same descents on the CPU.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu.hpp"
#include "icl/training/descent_engine.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/runtime/device.hpp"

namespace largo {

class GpuDescents : public GpuTest {};

struct Case {
  Eigen::Index d = 5;
  Parametrisation parameters = Parametrisation::factored;
  AttentionKind attention = AttentionKind::softmax;
  Optimizer optimizer = Optimizer::plain;
  std::int64_t length = 100, prompts = 128, steps = 40, record_every = 0;
  double start_scale = 1;
  std::uint64_t seed = 11;
};

/// For sanitizers: prompts for a cluster of four blocks of threads with four octets each, and an odd one out.
inline Case shortened(Case c) {
  c.prompts = std::min(c.prompts, usual_or_short(c.prompts, 29));
  c.steps = std::min(c.steps, usual_or_short(c.steps, 3));
  c.record_every = std::min(c.record_every, usual_or_short(c.record_every, 2));
  return c;
}

inline std::shared_ptr<const ParameterMap> map_of(const Case& c) {
  if (c.parameters == Parametrisation::factored) return factored_map(c.d);
  return c.parameters == Parametrisation::merged ? identity_map((c.d + 1) * (c.d + 2)) : invariant_map(c.d);
}

inline Vector start_of(const Case& c) {
  const Vector factored = random_factored_start(c.d, 7);
  if (c.parameters == Parametrisation::factored) return c.start_scale * factored;
  return c.start_scale * factored.head(map_of(c)->size());
}

inline DescentOptions options_of(const Case& c) {
  DescentOptions options;
  options.optimizer = c.optimizer;
  options.step_size = inverse_time_steps(c.optimizer == Optimizer::plain ? 0.05 : 0.005, 100);
  options.steps = c.steps;
  options.record_every = c.record_every;
  return options;
}

inline icl::RegressionDescent run_of(const Case& c) {
  icl::RegressionDescent run;
  run.batches.length = c.length;
  run.batches.prompts = c.prompts;
  run.batches.seed = c.seed + static_cast<std::uint64_t>(c.length);
  run.batches.attention = c.attention;
  run.state.parameters = start_of(c);
  return run;
}

inline DescentState on_cpu(const Case& c) {
  const icl::RegressionDescent run = run_of(c);
  const auto risk =
      in_parameters(regression_batches(published_problem(PublishedData::code, c.d), run.batches), map_of(c));
  return descend(*risk, run.state, options_of(c));
}

inline std::vector<icl::RegressionDescent> on_gpu(const Device& device, const std::vector<Case>& cases) {
  std::vector<icl::RegressionDescent> runs;
  for (const Case& c : cases) runs.push_back(run_of(c));
  const Case& first = cases.front();
  engine_of<icl::DescentEngine>(device).descend(published_problem(PublishedData::code, first.d),
                                                first.parameters, options_of(first), runs);
  return runs;
}

inline bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(double)) == 0;
}

inline void expect_same(const DescentState& cpu, const DescentState& gpu, const std::string& what) {
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

inline std::string describe(const Case& c) {
  return "d " + std::to_string(c.d) + ", parameters " + std::to_string(static_cast<int>(c.parameters)) +
         ", attention " + std::to_string(static_cast<int>(c.attention)) + ", optimizer " +
         std::to_string(static_cast<int>(c.optimizer)) + ", L " + std::to_string(c.length) + ", prompts " +
         std::to_string(c.prompts) + ", scale " + std::to_string(c.start_scale);
}

inline void expect_all_same(const Device& device, std::vector<Case> cases) {
  for (Case& c : cases) c = shortened(c);
  const std::vector<icl::RegressionDescent> runs = on_gpu(device, cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ASSERT_EQ(runs[i].error, nullptr) << describe(cases[i]);
    expect_same(on_cpu(cases[i]), runs[i].state, describe(cases[i]));
  }
}

}  // namespace largo
