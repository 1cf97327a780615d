#include "largo/icl/training/train.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "icl/training/descent_runs.hpp"
#include "icl/training/flow_runs.hpp"
#include "icl/training/measured_noise.hpp"
#include "icl/training/path_distance.hpp"
#include "icl/training/plan_parts.hpp"
#include "icl/training/run_exchange.hpp"
#include "icl/training/training_jobs.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"
#include "runtime/linked_stop.hpp"
#include "runtime/parallel.hpp"
#include "runtime/watched_work.hpp"

namespace largo {
namespace {

constexpr const char* kName = "train";

void make_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // or another process does
  if (!std::filesystem::is_directory(folder, error)) {
    fail(kName, "checkpoints", fmt::format("'{}'", folder.string()), "a folder that can be written");
  }
}

void check(const TrainingPlan& plan) {
  check(plan.problem);
  if (plan.lengths.empty()) fail(kName, "there are no lengths");
  check_size(kName, "start", plan.start.size(), map_of(plan)->size());
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  if (plan.seeds < 1 || plan.seeds > kMostSeeds ||
      static_cast<std::uint64_t>(plan.seeds - 1) > last - plan.batches.seed) {
    fail(kName, "seeds", static_cast<double>(plan.seeds),
         fmt::format("at least 1 and at most {}, and the last one below 2^64", kMostSeeds));
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

// With the limits of those seeds that `jobs` have.
std::vector<SeedPlan> seed_plans(const TrainingPlan& plan, const std::vector<TrainingJob>& jobs,
                                 const Execution& execution) {
  std::vector<SeedPlan> plans;
  for (std::int64_t seed = 0; seed < plan.seeds; ++seed) {
    plans.push_back({plan_of_seed(plan, seed), {}});
    plans.back().plan.batches.execution.stop = execution.stop;  // within a long batch, too
  }
  std::shared_ptr<const LimitFlows> of_all;
  for (const TrainingJob& job : jobs) {
    SeedPlan& one = plans[job.seed];
    if (one.limits != nullptr) continue;
    if (of_all == nullptr || flows_have_seeds(plan)) {
      of_all = std::make_shared<const LimitFlows>(limit_flows(one.plan, without_device(execution)));
    }
    one.limits = of_all;
  }
  return plans;
}

// Momentum and Adam have another clock than the flow.
bool comparable(const TrainingPlan& plan) { return plan.descent.optimiser == Optimiser::plain; }

// make(i, inner) for the runs i, in about the order given, each on one thread. One that fails stops the
// others, which save what they have, and its error is the one to report: of several, that of the first run.
void make_all(const std::vector<std::size_t>& order, const Execution& execution, LinkedStop& stop,
              const std::function<void(std::size_t i, const Execution& inner)>& make) {
  Execution inner = without_device(execution);
  inner.threads = 1;
  inner.stop = stop.flag();
  std::vector<std::exception_ptr> errors(order.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  parallel_for(std::ssize(order), execution, [&](std::ptrdiff_t) {
    const std::size_t i = order[next++];
    try {
      stop.look();  // a run that has not begun leaves nothing
      check_stop(inner);
      make(i, inner);
    } catch (const Stopped&) {
      stopped = true;
    } catch (...) {
      errors[i] = std::current_exception();
      stop.set();
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  if (stopped) throw Stopped();
}

std::vector<TrainingRun> make_runs(const std::vector<SeedPlan>& seeds, const std::vector<TrainingJob>& jobs,
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
  std::size_t ended = 0;
  for (const TrainingJob& job : jobs) work += cost_of(job);
  std::mutex mutex;
  const std::vector<std::size_t> order = order_of(jobs);
  std::vector<TrainingRun> runs(jobs.size());
  LinkedStop stop(execution.stop);
  make_all(order, execution, stop, [&](std::size_t i, const Execution& inner) {
    const TrainingJob& job = jobs[i];
    const auto& [plan, limits] = seeds[job.seed];
    if (job.method == TrainingMethod::flow) {
      runs[i] = flow_run(plan, job.attention, job.L, *limits, inner);
      return;
    }
    double mine = 0;
    const auto show = [&](double share) {
      if (!progress || on_device) return;
      const std::lock_guard lock(mutex);
      done += cost_of(job) * (share - mine);
      mine = share;
      if (share == 1) ++ended;
      progress(ended == all.size() ? 1 : std::min(done / work, 1.0));  // sums are rounded
      stop.look();
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

// Those of `mine`.
void compare_with_flows(const std::vector<TrainingPlan>& plans, const std::vector<TrainingJob>& jobs,
                        const std::vector<std::size_t>& mine, std::vector<TrainingRun>& runs,
                        const Execution& execution) {
  const bool have_seeds = flows_have_seeds(plans.front());
  const auto setting_of = [&](const TrainingJob& job) {
    return std::tuple(job.attention, job.L, have_seeds ? job.seed : 0);
  };
  std::map<std::tuple<AttentionKind, double, std::size_t>, std::size_t> flows;
  for (std::size_t k = 0; k < jobs.size(); ++k) {
    if (jobs[k].method == TrainingMethod::flow) flows[setting_of(jobs[k])] = k;
  }
  Execution inner = without_device(execution);
  inner.threads = 1;
  parallel_for(std::ssize(mine), execution, [&](std::ptrdiff_t at) {
    const std::size_t i = mine[static_cast<std::size_t>(at)];
    const TrainingPlan& plan = plans[jobs[i].seed];
    if (jobs[i].method != TrainingMethod::descent || !comparable(plan)) return;
    const auto flow = flows.find(setting_of(jobs[i]));
    if (flow != flows.end()) compare(plan, runs[i], runs[flow->second], inner);
  });
}

// What a run of another process has in common with those of this one.
void describe(const TrainingPlan& plan, const TrainingJob& job, TrainingRun& run) {
  run.L = job.L;
  run.attention = job.attention;
  run.seed = plan.batches.seed;
  run.method = job.method;
  run.map = job.method == TrainingMethod::flow ? map_of_flow(plan) : map_of(plan);
}

}  // namespace

TrainingPlan plan_of_seed(const TrainingPlan& plan, std::int64_t number) {
  TrainingPlan one = plan;
  one.seeds = 1;
  one.batches.execution.ranks = nullptr;  // processes share runs, not batches
  one.batches.seed += static_cast<std::uint64_t>(number);
  one.nodes.seed += static_cast<std::uint64_t>(number);
  if (number > 0 && plan.random_start) one.start = plan.random_start(one.batches.seed);
  return one;
}

std::vector<TrainingRun> train(const TrainingPlan& plan, const Execution& execution) {
  check(plan);
  check_same_on_all(plan, execution);
  const std::vector<TrainingJob> jobs = jobs_of(plan);
  const std::vector<int> owners = owners_of(jobs, execution);
  const int self = execution.ranks == nullptr ? 0 : execution.ranks->rank();
  std::vector<std::size_t> mine;
  std::vector<TrainingJob> my_jobs;
  double cost = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (owners[i] != self) continue;
    mine.push_back(i);
    my_jobs.push_back(jobs[i]);
    cost += cost_of(jobs[i]);
  }
  std::vector<TrainingRun> runs(jobs.size());
  watch_work(execution, cost, plan.progress, [&](const Execution& own, const ShowShare& show) {
    make_folder(plan.checkpoints);
    const std::vector<SeedPlan> seeds = seed_plans(plan, my_jobs, own);
    std::vector<TrainingRun> made = make_runs(seeds, my_jobs, show, own);
    for (std::size_t k = 0; k < mine.size(); ++k) runs[mine[k]] = std::move(made[k]);
  });
  std::vector<TrainingPlan> plans;
  for (std::int64_t seed = 0; seed < plan.seeds; ++seed) plans.push_back(plan_of_seed(plan, seed));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (owners[i] != self) describe(plans[jobs[i].seed], jobs[i], runs[i]);
  }
  exchange_runs(runs, owners, RunPart::course, execution);
  watch_work(execution, cost, {}, [&](const Execution& own, const ShowShare&) {
    compare_with_flows(plans, jobs, mine, runs, own);
  });
  exchange_runs(runs, owners, RunPart::beside_flow, execution);
  return runs;
}

}  // namespace largo
