#include "largo/icl/regression_training.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include "icl/descent_runs.hpp"
#include "icl/flow_runs.hpp"
#include "icl/noise_of_descent.hpp"
#include "icl/path_distance.hpp"
#include "icl/plan_parts.hpp"
#include "largo/numerics/check.hpp"
#include "numerics/parallel.hpp"

namespace largo {
namespace {

constexpr const char* kName = "train";

void make_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    fail(kName, "checkpoints", fmt::format("'{}'", folder.string()), "a folder that can be written");
  }
}

void check(const TrainingPlan& plan) {
  check(plan.problem);
  if (plan.lengths.empty()) fail(kName, "there are no lengths");
  check_size(kName, "start", plan.start.size(), map_of(plan)->size());
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  if (plan.seeds < 1 || static_cast<std::uint64_t>(plan.seeds - 1) > last - plan.batches.seed) {
    fail(kName, "seeds", static_cast<double>(plan.seeds), "at least 1, and the last one below 2^64");
  }
  const auto& methods = plan.methods;
  if (std::find(methods.begin(), methods.end(), TrainingMethod::descent) == methods.end()) return;
  if (!plan.descent.step_size) fail(kName, "descents need a step size");
  for (const double L : plan.lengths) {
    if (std::isfinite(L) && (L != std::floor(L) || L < 1 || L > 1e15)) {
      fail(kName, "length", L, "a whole number between 1 and 1e15 for descents, or inf");
    }
  }
}

struct Job {
  TrainingMethod method;
  AttentionKind attention;
  double L;
  std::size_t seed;  // its number
};

// On the invariant set no seed decides anything of a flow.
bool flows_have_seeds(const TrainingPlan& plan) { return plan.parameters != Parametrisation::invariant; }

std::vector<Job> jobs_of(const TrainingPlan& plan) {
  std::vector<Job> jobs;
  for (const TrainingMethod method : plan.methods) {
    const bool flow = method == TrainingMethod::flow;
    const std::int64_t seeds = flow && !flows_have_seeds(plan) ? 1 : plan.seeds;
    for (const AttentionKind attention : plan.attention) {
      for (const double L : plan.lengths) {
        if (!flow && std::isinf(L)) continue;
        for (std::int64_t seed = 0; seed < seeds; ++seed) {
          jobs.push_back({method, attention, L, static_cast<std::size_t>(seed)});
        }
      }
    }
  }
  return jobs;
}

// The plan of a seed, and what its runs are compared with.
struct SeedPlan {
  TrainingPlan plan;
  std::shared_ptr<const LimitFlows> limits;
};

// A device takes descents alone.
Execution without_device(Execution execution) {
  execution.device = nullptr;
  return execution;
}

std::vector<SeedPlan> seed_plans(const TrainingPlan& plan, const Execution& execution) {
  std::vector<SeedPlan> plans;
  for (std::int64_t seed = 0; seed < plan.seeds; ++seed) {
    SeedPlan one{plan_of_seed(plan, seed), {}};
    one.limits = plans.empty() || flows_have_seeds(plan)
                     ? std::make_shared<const LimitFlows>(limit_flows(one.plan, without_device(execution)))
                     : plans.front().limits;
    plans.push_back(std::move(one));
  }
  return plans;
}

// Longest prompts first, and flows before descents: cores are then idle least at the end.
std::vector<std::size_t> order_of(const std::vector<Job>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool flow_a = jobs[a].method == TrainingMethod::flow,
               flow_b = jobs[b].method == TrainingMethod::flow;
    return flow_a != flow_b ? flow_a : jobs[a].L > jobs[b].L;
  });
  return order;
}

// Momentum and Adam have another clock than the flow.
bool comparable(const TrainingPlan& plan) { return plan.descent.optimiser == Optimiser::plain; }

std::vector<TrainingRun> make_runs(const std::vector<SeedPlan>& seeds, const std::vector<Job>& jobs,
                                   const std::function<void(double share)>& progress,
                                   const Execution& execution) {
  std::vector<PlannedDescent> descents(jobs.size());
  std::vector<PlannedDescent*> all;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].method != TrainingMethod::descent) continue;
    descents[i] = prepare_descent(seeds[jobs[i].seed].plan, jobs[i].attention, jobs[i].L);
    all.push_back(&descents[i]);
  }
  const bool on_device = execution.device != nullptr;
  if (on_device) descend_on_device(all, progress, execution);
  double work = 0, done = 0;
  const auto work_of = [](const Job& job) { return job.method == TrainingMethod::flow ? 0 : job.L + 30; };
  for (const Job& job : jobs) work += work_of(job);
  std::mutex mutex;
  Execution inner = without_device(execution);
  inner.threads = 1;
  const std::vector<std::size_t> order = order_of(jobs);
  std::atomic<std::size_t> next = 0;
  std::vector<TrainingRun> runs(jobs.size());
  parallel_for(static_cast<std::ptrdiff_t>(jobs.size()), execution, [&](std::ptrdiff_t) {
    const std::size_t i = order[next++];
    const Job& job = jobs[i];
    const auto& [plan, limits] = seeds[job.seed];
    if (job.method == TrainingMethod::flow) {
      runs[i] = flow_run(plan, job.attention, job.L, *limits, inner);
      return;
    }
    double mine = 0;
    const auto show = [&](double share) {
      if (!progress || on_device) return;
      const std::lock_guard lock(mutex);
      done += work_of(job) * (share - mine);
      mine = share;
      progress(done / work);
    };
    runs[i] = descent_run(descents[i], show, inner);
    if (comparable(plan)) runs[i].to_limit_flow = path_distance(plan.problem, runs[i], limits->exact);
  });
  return runs;
}

void compare(const TrainingPlan& plan, TrainingRun& run, const TrainingRun& flow,
             const Execution& execution) {
  run.to_flow = path_distance(plan.problem, run, flow);
  run.noise = measured_noise(plan, run, flow, execution);
  NoisePrediction prediction = predicted_noise(plan, run, flow, execution);
  run.predicted_noise = prediction.noise;
  run.no_prediction = std::move(prediction.reason);
}

void compare_with_flows(const std::vector<SeedPlan>& seeds, const std::vector<Job>& jobs,
                        std::vector<TrainingRun>& runs, const Execution& execution) {
  Execution inner = without_device(execution);
  inner.threads = 1;
  parallel_for(static_cast<std::ptrdiff_t>(runs.size()), execution, [&](std::ptrdiff_t at) {
    const auto i = static_cast<std::size_t>(at);
    const TrainingPlan& plan = seeds[jobs[i].seed].plan;
    if (jobs[i].method != TrainingMethod::descent || !comparable(plan)) return;
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      if (jobs[k].method == TrainingMethod::flow && jobs[k].L == jobs[i].L &&
          jobs[k].attention == jobs[i].attention &&
          (!flows_have_seeds(plan) || jobs[k].seed == jobs[i].seed)) {
        compare(plan, runs[i], runs[k], inner);
      }
    }
  });
}

}  // namespace

TrainingPlan plan_of_seed(const TrainingPlan& plan, std::int64_t number) {
  TrainingPlan one = plan;
  one.seeds = 1;
  one.batches.seed += static_cast<std::uint64_t>(number);
  one.nodes.seed += static_cast<std::uint64_t>(number);
  if (number > 0 && plan.random_start) one.start = plan.random_start(one.batches.seed);
  return one;
}

std::vector<TrainingRun> train(const TrainingPlan& plan, const Execution& execution) {
  check(plan);
  make_folder(plan.checkpoints);
  Execution alone = execution;  // runs do not meet other processes: each has them all
  alone.ranks = nullptr;
  const std::vector<Job> jobs = jobs_of(plan);
  const std::vector<SeedPlan> seeds = seed_plans(plan, alone);
  std::vector<TrainingRun> runs = make_runs(seeds, jobs, plan.progress, alone);
  compare_with_flows(seeds, jobs, runs, alone);
  return runs;
}

}  // namespace largo
