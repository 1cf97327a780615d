#include "largo/icl/training/training_plan.hpp"

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

#include "icl/training/comparison.hpp"
#include "icl/training/descents.hpp"
#include "icl/training/flow_runs.hpp"
#include "icl/training/plan_parts.hpp"
#include "icl/training/run_exchange.hpp"
#include "icl/training/training_state.hpp"
#include "largo/runtime/check.hpp"
#include "runtime/distribute.hpp"
#include "runtime/linked_stop.hpp"
#include "runtime/parallel.hpp"
#include "runtime/watched_work.hpp"

namespace largo {
namespace {

constexpr const char* kTrain = "train";

void make_folder(const std::filesystem::path& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // or another process does it
  if (!std::filesystem::is_directory(folder, error)) {
    fail(kTrain, "checkpoints", fmt::format("'{}'", folder.string()), "a folder that can be written");
  }
}

void check(const TrainingPlan& plan) {
  if (!plan.other) check(plan.problem);
  if (plan.other && (!plan.other->task || !plan.other->loss)) fail(kTrain, "the task or the loss is null");
  if (plan.lengths.empty()) fail(kTrain, "there are no lengths");
  check_size(kTrain, "start", plan.start.size(), icl::map_of(plan)->size());
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  if (plan.seeds < 1 || plan.seeds > kMostSeeds ||
      static_cast<std::uint64_t>(plan.seeds - 1) > last - plan.batches.seed) {
    fail(kTrain, "seeds", static_cast<double>(plan.seeds),
         fmt::format("at least 1 and at most {}, and the last one below 2^64", kMostSeeds));
  }
  if (!has(plan, TrainingMethod::descent)) return;
  if (!plan.descent.step_size) fail(kTrain, "descents need a step size");
  for (const LengthLaw& law : plan.lengths) {
    for (const double L : law.lengths()) {
      if (law.is_infinite() || (L == std::floor(L) && L < kLongestDescent)) continue;
      fail(kTrain, "length", L,
           fmt::format("a whole number from 1 to below 1e{:g} for descents, or inf",
                       std::log10(kLongestDescent)));
    }
  }
}

// Only descents run on a device.
Execution without_device(Execution execution) {
  execution.device = nullptr;
  return execution;
}

std::vector<TrainingPlan> plans_of_seeds(const TrainingPlan& plan) {
  std::vector<TrainingPlan> plans;
  for (std::int64_t seed = 0; seed < plan.seeds; ++seed) plans.push_back(plan_of_seed(plan, seed));
  return plans;
}

// The flows of the infinite prompt for each seed among `states`, with which their runs are compared.
using Limits = std::vector<std::shared_ptr<const icl::LimitFlows>>;
Limits limits_of(const std::vector<TrainingPlan>& plans, const std::vector<icl::TrainingState>& states,
                 const icl::ShowFlow& show, const Execution& execution) {
  Limits limits(plans.size());
  std::shared_ptr<const icl::LimitFlows> latest;
  // Descents alone are not worth a flow over draws.
  if (plans.front().other && !has(plans.front(), TrainingMethod::flow)) return limits;
  for (const icl::TrainingState& state : states) {
    if (limits[state.seed] != nullptr) continue;
    const TrainingPlan& plan = plans[state.seed];
    if (latest == nullptr || icl::flows_have_seeds(plan)) {
      latest =
          std::make_shared<const icl::LimitFlows>(icl::limit_flows(plan, show, without_device(execution)));
    }
    limits[state.seed] = latest;
  }
  return limits;
}

// Calls make(i, inner) for the runs i, in about the given order, each on so many threads. A run that fails
// stops the others, which save what they have, and its error is reported: of several, that of the first run.
void make_all(const std::vector<std::size_t>& order, int threads_each, const Execution& execution,
              runtime::LinkedStop& stop,
              const std::function<void(std::size_t i, const Execution& inner)>& make) {
  Execution inner = without_device(execution);
  inner.threads = threads_each;
  inner.stop = stop.flag();
  std::vector<std::exception_ptr> errors(order.size());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  runtime::parallel_for(std::ssize(order), execution, [&](std::ptrdiff_t) {
    const std::size_t i = order[next++];
    try {
      stop.look();  // a run that has not begun has nothing to save
      runtime::check_stop(inner);
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

// The share of the work of all runs that is done, from the share of each. `before` is work before them.
class RunProgress {
 public:
  RunProgress(const std::vector<icl::TrainingState>& states, double before,
              const std::function<void(double share)>& show)
      : show_(show), work_(before), left_(before > 0 ? 1 : 0) {
    for (const icl::TrainingState& state : states) {
      work_ += cost_of(state);
      if (cost_of(state) > 0) ++left_;
    }
  }

  /// A share of work that costs so much is done; `before` is the share that was last shown.
  void add(double cost, double share, double& before) {
    if (!show_ || cost == 0 || before == 1) return;
    const std::lock_guard lock(mutex_);
    done_ += cost * (share - std::exchange(before, share));
    if (share == 1) --left_;
    show_(left_ == 0 ? 1 : std::min(done_ / work_, 1.0));  // sums are rounded
  }

 private:
  const std::function<void(double share)>& show_;
  double work_, done_ = 0;
  std::size_t left_;
  std::mutex mutex_;
};

// The risks of a run's end at the other lengths that the plan asks for.
void evaluate(const TrainingPlan& plan, TrainingRun& run, const Execution& execution) {
  for (const LengthLaw& L : plan.evaluate) {
    run.evaluated.push_back(icl::end_risk(plan, run.attention, L, run.last, execution));
  }
}

std::vector<TrainingRun> make_runs(const std::vector<TrainingPlan>& plans,
                                   std::vector<icl::TrainingState>& states,
                                   const std::function<void(double share)>& show,
                                   const Execution& execution) {
  // Flows on the exact risks of regression cost next to nothing; those over draws take the time.
  const double cost_of_limit =
      has(plans.front(), TrainingMethod::flow) ? icl::cost_of_flow(plans.front(), icl::kInfinity) : 0;
  RunProgress progress(states, cost_of_limit, show);
  double limit_shown = 0;
  const Limits limits = limits_of(
      plans, states, [&](double share) { progress.add(cost_of_limit, share, limit_shown); }, execution);
  std::vector<icl::TrainingState*> descents;
  for (icl::TrainingState& state : states) {
    if (state.method != TrainingMethod::descent) continue;
    icl::begin_descent(plans[state.seed], state);
    descents.push_back(&state);
  }
  const bool on_device = execution.device != nullptr;
  if (on_device) icl::descend_on_device(plans.front(), descents, show, execution);
  std::vector<TrainingRun> runs(states.size());
  runtime::LinkedStop stop(execution.stop);
  const int threads = runtime::thread_count(execution);
  const int each =
      plans.front().other ? std::max(1, threads / std::max(1, static_cast<int>(states.size()))) : 1;
  make_all(icl::order_of(states), each, execution, stop, [&](std::size_t i, const Execution& inner) {
    icl::TrainingState& state = states[i];
    const TrainingPlan& plan = plans[state.seed];
    double shown = 0;
    if (state.method == TrainingMethod::flow) {
      const auto show_flow = [&](double share) { progress.add(cost_of(state), share, shown); };
      runs[i] = icl::flow_run(plan, state.attention, state.L, *limits[state.seed], show_flow, inner);
      evaluate(plan, runs[i], inner);
      show_flow(1);
      return;
    }
    if (!on_device) {
      icl::descend_here(
          plan, state,
          [&](double share) {
            progress.add(cost_of(state), share, shown);
            stop.look();
          },
          inner);
    }
    runs[i] = icl::descent_run(plan, state);
    evaluate(plan, runs[i], inner);
    if (icl::is_comparable(plan) && limits[state.seed] != nullptr) {
      runs[i].to_limit_flow = icl::path_distance(plan, runs[i], limits[state.seed]->exact);
    }
  });
  return runs;
}

// Compares the descents among `mine` with the flows at their lengths.
void compare_with_flows(const std::vector<TrainingPlan>& plans, const std::vector<icl::TrainingState>& states,
                        const std::vector<std::size_t>& mine, std::vector<TrainingRun>& runs,
                        const Execution& execution) {
  const bool have_seeds = icl::flows_have_seeds(plans.front());
  const auto setting_of = [&](const icl::TrainingState& state) {
    return std::tuple(state.attention, state.L.name(), have_seeds ? state.seed : 0);
  };
  std::map<std::tuple<AttentionKind, std::string, std::size_t>, std::size_t> flows;
  for (std::size_t k = 0; k < states.size(); ++k) {
    if (states[k].method == TrainingMethod::flow) flows[setting_of(states[k])] = k;
  }
  Execution inner = without_device(execution);
  inner.threads = 1;
  runtime::parallel_for(std::ssize(mine), execution, [&](std::ptrdiff_t at) {
    const std::size_t i = mine[static_cast<std::size_t>(at)];
    const TrainingPlan& plan = plans[states[i].seed];
    if (states[i].method != TrainingMethod::descent || !icl::is_comparable(plan)) return;
    const auto flow = flows.find(setting_of(states[i]));
    if (flow != flows.end()) icl::compare_with_flow(plan, runs[i], runs[flow->second], inner);
  });
}

// Sets what this process knows about a run of another process.
void describe(const TrainingPlan& plan, const icl::TrainingState& state, TrainingRun& run) {
  run.L = state.L;
  run.attention = state.attention;
  run.seed = plan.batches.seed;
  run.method = state.method;
  run.map = state.method == TrainingMethod::flow ? icl::map_of_flow(plan) : icl::map_of(plan);
}

}  // namespace

bool has(const TrainingPlan& plan, TrainingMethod method) {
  return std::find(plan.methods.begin(), plan.methods.end(), method) != plan.methods.end();
}

Eigen::Index token_dimension(const TrainingPlan& plan) {
  return plan.other ? plan.other->task->token_dimension() : plan.problem.dimension() + 1;
}

RegressionParameters to_head(const TrainingPlan& plan, const ConstVectorRef& values) {
  if (!plan.other) return to_parameters(values, plan.problem.dimension());
  const PromptTask& task = *plan.other->task;
  const Eigen::Index d = task.token_dimension(), e = task.query_dimension(), m = task.output_dimension();
  check_size(kTrain, "parameters", values.size(), d * e + m * d);
  return {values.head(d * e).reshaped(d, e), values.tail(m * d)};
}

double null_risk(const TrainingPlan& plan, const Execution& execution) {
  if (!plan.other) return plan.problem.null_risk();
  return null_risk(icl::setting_of(plan, AttentionKind::softmax, icl::kInfinity, icl::DrawsOf::end),
                   kDrawsAtEnds * plan.prompts, execution)
      .value;
}

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
  icl::check_same_on_all(plan, execution);
  const std::vector<icl::TrainingState> states = icl::states_of(plan);
  const std::vector<int> owners = icl::owners_of(states, execution);
  const int self = execution.ranks == nullptr ? 0 : execution.ranks->rank();
  std::vector<std::size_t> mine;
  std::vector<icl::TrainingState> my_states;
  double cost = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (owners[i] != self) continue;
    mine.push_back(i);
    my_states.push_back(states[i]);
    cost += cost_of(states[i]);
  }
  const std::vector<TrainingPlan> plans = plans_of_seeds(plan);
  std::vector<TrainingRun> runs(states.size());
  runtime::watch_work(execution, cost, plan.progress,
                      [&](const Execution& own, const runtime::ShowShare& show) {
                        make_folder(plan.checkpoints);
                        std::vector<TrainingPlan> stoppable = plans;
                        for (TrainingPlan& one : stoppable)
                          one.batches.execution.stop = own.stop;  // also within a long batch
                        std::vector<TrainingRun> made = make_runs(stoppable, my_states, show, own);
                        for (std::size_t k = 0; k < mine.size(); ++k) runs[mine[k]] = std::move(made[k]);
                      });
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (owners[i] != self) describe(plans[states[i].seed], states[i], runs[i]);
  }
  icl::exchange_runs(runs, owners, icl::RunPart::course, execution);
  runtime::watch_work(execution, cost, {}, [&](const Execution& own, const runtime::ShowShare&) {
    compare_with_flows(plans, states, mine, runs, own);
  });
  icl::exchange_runs(runs, owners, icl::RunPart::beside_flow, execution);
  return runs;
}

}  // namespace largo
