#include "largo/icl/regression_training.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include "icl/descent_fingerprint.hpp"
#include "icl/general_risk.hpp"
#include "icl/noise_of_descent.hpp"
#include "icl/path_distance.hpp"
#include "icl/plan_parts.hpp"
#include "icl/risk_statistics.hpp"
#include "largo/icl/descent_engine.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/device.hpp"
#include "largo/numerics/factor.hpp"
#include "numerics/parallel.hpp"

namespace largo {
namespace {

constexpr const char* kName = "train";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostGaps = 200;     // where gradients are compared, along a path
constexpr std::int64_t kCheckpoints = 50;  // in a run

InvariantPoint invariant_start(const TrainingPlan& plan) {
  const Eigen::Index d = plan.problem.dimension();
  check_size(kName, "start", plan.start.size(), d * d + 1);
  return {plan.start.head(d * d).reshaped(d, d), plan.start[d * d]};
}

bool is_regular(const Matrix& covariance) {
  const Vector values = singular_values(covariance).values;
  return values[values.size() - 1] > 1e-12 * values[0];
}

// Over nodes or exact: see softmax_risk_over_nodes().
enum class Average : std::uint8_t { best, nodes };

// Most steps of a flow off the invariant set are spent in its first half, in transients; errors of the nodes
// matter at the end.
void general_flow(const TrainingPlan& plan, TrainingRun& run, Average average, const Execution& execution) {
  FlowPlan flow_plan = plan.flow;
  flow_plan.method = FlowMethod::krylov;
  const bool exact =
      average == Average::best && (run.attention == AttentionKind::linear || std::isinf(run.L));
  const bool halves = !exact && std::isfinite(plan.flow.end);
  if (halves) flow_plan.end = plan.flow.end / 2;
  Vector start = plan.start;
  for (int half = 0; half < (halves ? 2 : 1); ++half) {
    const TaskNodes nodes = half == 0 ? early_nodes(plan, run.L) : late_nodes(plan, run.L);
    const auto risk = in_parameters(exact ? general_risk(plan.problem, run.attention, run.L, nodes, execution)
                                          : softmax_risk_over_nodes(plan.problem, run.L, nodes, execution),
                                    run.map);
    const FlowResult flow = gradient_flow(*risk, start, flow_plan, execution);
    flow.trajectory.append_to(run.path, half == 0 ? 0 : run.path.end());
    start = run.path.points().back().parameters;
    run.stationary = flow.stationary;
  }
}

TrainingRun flow_run(const TrainingPlan& plan, AttentionKind attention, double L, Average average,
                     const Execution& execution) {
  TrainingRun run;
  run.L = L;
  run.attention = attention;
  run.method = TrainingMethod::flow;
  const Eigen::Index d = plan.problem.dimension();
  if (plan.parameters == Parametrisation::invariant) {
    RegressionFlow flow =
        regression_flow(plan.problem, attention, L, invariant_start(plan), plan.flow, execution);
    run.path = std::move(flow.flow.trajectory);
    run.map = composed(flow.map, invariant_map(d));
    run.final_risk = {flow.flow.last.value, flow.flow.last.error};
    run.stationary = flow.flow.stationary;
    run.balance_drift = flow.flow.drift.back();
    if (std::isinf(L) && run.stationary && plan.problem.score_scale != 0 &&
        is_regular(plan.problem.covariance)) {
      const InvariantPoint limit = infinite_limit(plan.problem);
      run.to_theorem = std::hypot((flow.last.A - limit.A).norm(), flow.last.b - limit.b);
    }
  } else {
    run.map = map_of(plan);
    general_flow(plan, run, average, execution);
  }
  const std::vector<TrajectoryPoint>& points = run.path.points();
  run.steps = static_cast<std::int64_t>(points.size()) - 1;
  run.last = to_parameters(run.map->map(points.back().parameters), d);
  if (plan.parameters != Parametrisation::invariant) {
    const TaskNodes nodes = final_nodes(plan);
    run.final_risk = regression_risk(plan.problem, attention, L, run.last, nodes, execution);
  }
  return run;
}

std::string describe_run(AttentionKind attention, double L) {
  return fmt::format("{} attention, L = {:g}", attention == AttentionKind::softmax ? "softmax" : "linear", L);
}

EngineDescent prepare_descent(const TrainingPlan& plan, AttentionKind attention, double L) {
  EngineDescent descent;
  descent.batches = plan.batches;
  descent.batches.length = static_cast<std::int64_t>(L);
  descent.batches.attention = attention;
  if (!plan.checkpoints.empty()) {
    descent.checkpoint =
        plan.checkpoints / fmt::format("{}-L{:.0f}-{:016x}.safetensors",
                                       attention == AttentionKind::softmax ? "softmax" : "linear", L,
                                       descent_fingerprint(plan, attention, L));
  }
  if (!descent.checkpoint.empty() && std::filesystem::exists(descent.checkpoint)) {
    descent.state = load_descent(descent.checkpoint);
  } else {
    descent.state.parameters = plan.start;
  }
  return descent;
}

DescentOptions descent_options(const TrainingPlan& plan, const Execution& execution) {
  DescentOptions options = plan.descent;
  options.execution.stop = execution.stop;
  if (!plan.checkpoints.empty()) {
    options.checkpoint_every = std::max<std::int64_t>(1, options.steps / kCheckpoints);
  }
  return options;
}

// On the threads; to a descent that a device has run this adds nothing.
void finish_descent(const TrainingPlan& plan, DescentOptions options, double L, EngineDescent& descent) {
  try {
    if (descent.error) std::rethrow_exception(descent.error);
    options.checkpoint = descent.checkpoint;
    const auto risk = in_parameters(regression_batches(plan.problem, descent.batches), map_of(plan));
    descent.state = descend(*risk, std::move(descent.state), options);
  } catch (const Diverged& error) {
    fail(kName, fmt::format("{}: {}", describe_run(descent.batches.attention, L), error.what()));
  }
}

TrainingRun descent_run(const TrainingPlan& plan, double L, EngineDescent& descent) {
  TrainingRun run;
  run.L = L;
  run.attention = descent.batches.attention;
  run.method = TrainingMethod::descent;
  run.map = map_of(plan);
  DescentState& state = descent.state;
  // A gradient of `factor` times the squared error is 2 factor times that of the risk.
  const double pace = 2 * plan.batches.loss_factor;
  for (DescentRecord& record : state.records) {
    record.time *= pace;
    record.loss /= pace;
  }
  run.path = trajectory_of(state);
  run.steps = state.step;
  run.last = to_parameters(run.map->map(state.parameters), plan.problem.dimension());
  const TaskNodes nodes = final_nodes(plan);
  run.final_risk = regression_risk(plan.problem, run.attention, L, run.last, nodes, plan.batches.execution);
  return run;
}

double gradient_gap(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& limit,
                    const Execution& execution) {
  const auto finite = risk_of(plan, run.attention, run.L, plan.nodes, execution);
  const auto infinite = risk_of(plan, run.attention, kInfinity, plan.nodes, execution);
  const std::vector<TrajectoryPoint>& points = limit.path.points();
  const std::size_t stride = 1 + points.size() / kMostGaps;
  double largest = 0;
  for (std::size_t i = 0; i < points.size(); i += stride) {
    const Vector here = parameters_of(plan, limit, points[i].parameters);
    largest = std::max(largest, (finite->at(here).gradient - infinite->at(here).gradient).norm());
  }
  return largest;
}

struct Job {
  TrainingMethod method;
  AttentionKind attention;
  double L;
};

// All descents at once.
void descend_on_device(const TrainingPlan& plan, const Execution& execution, const std::vector<Job>& jobs,
                       std::vector<EngineDescent>& descents) {
  std::vector<EngineDescent> all;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].method == TrainingMethod::descent) all.push_back(std::move(descents[i]));
  }
  if (all.empty()) return;
  DescentOptions options = descent_options(plan, execution);
  options.progress = plan.progress;
  execution.device->descents().descend(plan.problem, plan.parameters, options, all);
  std::size_t next = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].method == TrainingMethod::descent) descents[i] = std::move(all[next++]);
  }
  // One that failed ended the others too: they are not to go on here.
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (descents[i].error) finish_descent(plan, options, jobs[i].L, descents[i]);
  }
}

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
  const auto& methods = plan.methods;
  if (std::find(methods.begin(), methods.end(), TrainingMethod::descent) == methods.end()) return;
  if (!plan.descent.step_size) fail(kName, "descents need a step size");
  for (const double L : plan.lengths) {
    if (std::isfinite(L) && (L != std::floor(L) || L < 1 || L > 1e15)) {
      fail(kName, "length", L, "a whole number between 1 and 1e15 for descents, or inf");
    }
  }
}

}  // namespace

Estimate regression_risk(const RegressionProblem& problem, AttentionKind attention, double L,
                         const RegressionParameters& parameters, const TaskNodes& nodes,
                         const Execution& execution) {
  check(problem);
  check_length("regression_risk", L);
  const Eigen::Index d = problem.dimension();
  check_shape("regression_risk", "U", parameters.U.rows(), parameters.U.cols(), d + 1, d + 1);
  check_size("regression_risk", "v", parameters.v.size(), d + 1);
  const Vector values = to_vector(parameters);
  if (!is_invariant(parameters) && attention == AttentionKind::softmax && std::isfinite(L)) {
    return softmax_risk_estimate(problem, L, parameters, nodes, execution);
  }
  const RiskPoint point =
      is_invariant(parameters)
          ? invariant_risk(problem, attention, L)->at(invariant_map(d)->pull_back(values, values))
          : general_risk(problem, attention, L, nodes, execution)->at(values);
  return {point.value, point.error};
}

std::vector<TrainingRun> train(const TrainingPlan& plan, const Execution& execution) {
  check(plan);
  make_folder(plan.checkpoints);
  std::vector<Job> jobs;
  for (const TrainingMethod method : plan.methods) {
    for (const AttentionKind attention : plan.attention) {
      for (const double L : plan.lengths) {
        if (method == TrainingMethod::flow || std::isfinite(L)) jobs.push_back({method, attention, L});
      }
    }
  }
  // Longest prompts first, and flows before descents: cores are then idle least at the end.
  Execution alone = execution;  // runs do not meet other processes: each has them all
  alone.ranks = nullptr;
  alone.device = nullptr;  // which takes descents alone
  const TrainingRun limit = flow_run(plan, AttentionKind::softmax, kInfinity, Average::best, alone);
  // Flows over nodes are compared with one over the same nodes. (Those of short prompts have more, but are so
  // far from the limit that it does not matter.)
  const bool over_nodes = plan.parameters != Parametrisation::invariant;
  const TrainingRun nodes_limit =
      over_nodes ? flow_run(plan, AttentionKind::softmax, kInfinity, Average::nodes, alone) : limit;
  std::vector<TrainingRun> runs(jobs.size());
  std::vector<std::size_t> order(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool flow_a = jobs[a].method == TrainingMethod::flow,
               flow_b = jobs[b].method == TrainingMethod::flow;
    return flow_a != flow_b ? flow_a : jobs[a].L > jobs[b].L;
  });
  std::vector<EngineDescent> descents(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].method != TrainingMethod::descent) continue;
    descents[i] = prepare_descent(plan, jobs[i].attention, jobs[i].L);
  }
  if (execution.device != nullptr) descend_on_device(plan, execution, jobs, descents);
  double work = 0, done = 0;
  const auto work_of = [](const Job& job) { return job.method == TrainingMethod::flow ? 0 : job.L + 30; };
  for (const Job& job : jobs) work += work_of(job);
  std::mutex mutex;
  Execution inner = alone;
  inner.threads = 1;
  std::atomic<std::size_t> next = 0;
  // Momentum and Adam have another clock than the flow.
  const bool comparable = plan.descent.optimiser == Optimiser::plain;
  parallel_for(static_cast<std::ptrdiff_t>(jobs.size()), alone, [&](std::ptrdiff_t) {
    const std::size_t i = order[next++];
    const Job& job = jobs[i];
    if (job.method == TrainingMethod::flow) {
      const TrainingRun& reference = job.attention == AttentionKind::softmax ? nodes_limit : limit;
      const bool infinite = std::isinf(job.L);
      runs[i] = infinite ? limit : flow_run(plan, job.attention, job.L, Average::best, inner);
      runs[i].attention = job.attention;
      runs[i].gradient_gap = infinite ? 0 : gradient_gap(plan, runs[i], reference, inner);
      runs[i].to_limit_flow = path_distance(plan.problem, runs[i], infinite ? limit : reference);
    } else {
      DescentOptions options = descent_options(plan, execution);
      double mine = 0;
      options.progress = [&](double share) {
        if (!plan.progress || execution.device != nullptr) return;
        const std::lock_guard lock(mutex);
        done += work_of(job) * (share - mine);
        mine = share;
        plan.progress(done / work);
      };
      finish_descent(plan, options, job.L, descents[i]);
      runs[i] = descent_run(plan, job.L, descents[i]);
      if (comparable) runs[i].to_limit_flow = path_distance(plan.problem, runs[i], limit);
    }
  });
  parallel_for(static_cast<std::ptrdiff_t>(runs.size()), alone, [&](std::ptrdiff_t i) {
    TrainingRun& run = runs[static_cast<std::size_t>(i)];
    if (run.method != TrainingMethod::descent || !comparable) return;
    for (const TrainingRun& flow : runs) {
      if (flow.method == TrainingMethod::flow && flow.L == run.L && flow.attention == run.attention) {
        run.to_flow = path_distance(plan.problem, run, flow);
        run.noise = measured_noise(plan, run, flow, inner);
        NoisePrediction prediction = predicted_noise(plan, run, flow, inner);
        run.predicted_noise = prediction.noise;
        run.no_prediction = std::move(prediction.reason);
      }
    }
  });
  return runs;
}

}  // namespace largo
