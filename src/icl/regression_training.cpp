#include "largo/icl/regression_training.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>

#include <fmt/core.h>

#include "icl/polynomial_risk.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"
#include "numerics/parallel.hpp"

namespace largo {
namespace {

constexpr const char* kName = "train";
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kCheckpoints = 50;  // in a run
constexpr std::int64_t kFinalNodes = 64;   // times those of the flow

std::shared_ptr<const ParameterMap> map_of(const TrainingPlan& plan) {
  const Eigen::Index d = plan.problem.dimension();
  switch (plan.parameters) {
    case Parametrisation::invariant:
      return invariant_map(d);
    case Parametrisation::merged:
      return identity_map((d + 1) * (d + 2));
    case Parametrisation::factored:
      return factored_map(d);
  }
  return nullptr;
}

InvariantPoint invariant_start(const TrainingPlan& plan) {
  const Eigen::Index d = plan.problem.dimension();
  check_size(kName, "start", plan.start.size(), d * d + 1);
  return {plan.start.head(d * d).reshaped(d, d), plan.start[d * d]};
}

bool is_regular(const Matrix& covariance) {
  const Vector values = singular_values(covariance).values;
  return values[values.size() - 1] > 1e-12 * values[0];
}

TrainingRun flow_run(const TrainingPlan& plan, AttentionKind attention, double L,
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
    const auto risk = in_parameters(general_risk(plan.problem, attention, L, plan.nodes, execution), run.map);
    FlowPlan flow_plan = plan.flow;
    flow_plan.method = FlowMethod::krylov;
    FlowResult flow = gradient_flow(*risk, plan.start, flow_plan, execution);
    run.path = std::move(flow.trajectory);
    run.stationary = flow.stationary;
  }
  const std::vector<TrajectoryPoint>& points = run.path.points();
  run.steps = static_cast<std::int64_t>(points.size()) - 1;
  run.last = to_parameters(run.map->map(points.back().parameters), d);
  if (plan.parameters != Parametrisation::invariant) {
    const TaskNodes nodes{kFinalNodes * plan.nodes.count, plan.nodes.seed};
    run.final_risk = regression_risk(plan.problem, attention, L, run.last, nodes, execution);
  }
  return run;
}

// 64 bits of all that decides the course of a descent (FNV-1a over the bytes of its numbers).
std::uint64_t fingerprint(const TrainingPlan& plan, AttentionKind attention, double L) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](double value) {
    for (std::uint64_t bits = std::bit_cast<std::uint64_t>(value), i = 0; i < 8; ++i, bits >>= 8U) {
      hash = (hash ^ (bits & 0xffU)) * 0x100000001b3U;
    }
  };
  const auto add_all = [&](const Matrix& values) {
    for (const double x : values.reshaped()) add(x);
  };
  const RegressionProblem& problem = plan.problem;
  for (const Matrix* matrix : {&problem.covariance, &problem.query_covariance, &problem.prior_covariance}) {
    add_all(*matrix);
  }
  add_all(plan.start);
  const DescentOptions& descent = plan.descent;
  for (const double x :
       {problem.noise, problem.score_scale, L, attention == AttentionKind::softmax ? 1.0 : 0.0,
        static_cast<double>(plan.parameters), static_cast<double>(descent.optimiser), descent.momentum,
        descent.squares, descent.epsilon, static_cast<double>(descent.steps),
        static_cast<double>(descent.record_every), static_cast<double>(plan.batches.prompts),
        static_cast<double>(plan.batches.kernel), plan.batches.loss_factor}) {
    add(x);
  }
  add(std::bit_cast<double>(plan.batches.seed));
  for (std::int64_t k = 0; k < 16; ++k) add(descent.step_size(k * descent.steps / 16));
  return hash;
}

DescentState first_state(const TrainingPlan& plan, const DescentOptions& options) {
  if (!options.checkpoint.empty() && std::filesystem::exists(options.checkpoint)) {
    return load_descent(options.checkpoint);
  }
  DescentState state;
  state.parameters = plan.start;
  return state;
}

TrainingRun descent_run(const TrainingPlan& plan, AttentionKind attention, double L, DescentOptions options) {
  TrainingRun run;
  run.L = L;
  run.attention = attention;
  run.method = TrainingMethod::descent;
  run.map = map_of(plan);
  RegressionBatches batches = plan.batches;
  batches.length = static_cast<std::int64_t>(L);
  batches.attention = attention;
  const auto risk = in_parameters(regression_batches(plan.problem, batches), run.map);
  if (!plan.checkpoints.empty()) {
    options.checkpoint =
        plan.checkpoints / fmt::format("{}-L{:.0f}-{:016x}.safetensors",
                                       attention == AttentionKind::softmax ? "softmax" : "linear", L,
                                       fingerprint(plan, attention, L));
    options.checkpoint_every = std::max<std::int64_t>(1, options.steps / kCheckpoints);
  }
  DescentState state = descend(*risk, first_state(plan, options), options);
  // A gradient of `factor` times the squared error is 2 factor times that of the risk.
  const double pace = 2 * plan.batches.loss_factor;
  for (DescentRecord& record : state.records) {
    record.time *= pace;
    record.loss /= pace;
  }
  run.path = trajectory_of(state);
  run.steps = state.step;
  run.last = to_parameters(run.map->map(state.parameters), plan.problem.dimension());
  const TaskNodes nodes{kFinalNodes * plan.nodes.count, plan.nodes.seed};
  run.final_risk = regression_risk(plan.problem, attention, L, run.last, nodes, plan.batches.execution);
  return run;
}

PathDistance path_distance(const RegressionProblem& problem, const TrainingRun& one, const TrainingRun& two) {
  const Eigen::Index d = problem.dimension();
  // A flow that ended where it is stationary stays there.
  const double ends[] = {one.path.end(), two.path.end()};
  const double horizon = one.stationary && two.stationary ? std::max(ends[0], ends[1])
                         : one.stationary                 ? ends[1]
                         : two.stationary                 ? ends[0]
                                                          : std::min(ends[0], ends[1]);
  PathDistance distance;
  distance.parameters = largest_distance(one.path, two.path, horizon, [&](const Vector& x, const Vector& y) {
    const RegressionParameters p = to_parameters(one.map->map(x), d), q = to_parameters(two.map->map(y), d);
    return std::hypot((p.U - q.U).leftCols(d).norm(), (p.v - q.v).norm());
  });
  distance.predictions = largest_distance(one.path, two.path, horizon, [&](const Vector& x, const Vector& y) {
    return prediction_distance(problem, to_parameters(one.map->map(x), d), to_parameters(two.map->map(y), d));
  });
  return distance;
}

double gradient_gap(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& limit,
                    const Execution& execution) {
  const auto risk_of = [&](double L) -> std::shared_ptr<const Risk> {
    if (plan.parameters == Parametrisation::invariant) {
      return invariant_risk(plan.problem, run.attention, L);
    }
    return in_parameters(general_risk(plan.problem, run.attention, L, plan.nodes, execution), map_of(plan));
  };
  const auto finite = risk_of(run.L), infinite = risk_of(kInfinity);
  const Eigen::Index d = plan.problem.dimension();
  double largest = 0;
  for (const TrajectoryPoint& point : limit.path.points()) {
    Vector here = point.parameters;
    if (plan.parameters == Parametrisation::invariant) {
      const Vector merged = limit.map->map(here);
      here = invariant_map(d)->pull_back(merged, merged);  // the inverse on the invariant set
    }
    largest = std::max(largest, (finite->at(here).gradient - infinite->at(here).gradient).norm());
  }
  return largest;
}

DescentNoise noise_around(const TrainingPlan& plan, const TrainingRun& run, const TrainingRun& flow,
                          const Execution& execution) {
  constexpr double kFrom = 0.8;  // of the time
  const Eigen::Index d = plan.problem.dimension();
  const TaskNodes nodes{kFinalNodes * plan.nodes.count, plan.nodes.seed};
  const auto risk_at = [&](const TrainingRun& path, const Vector& parameters) {
    const RegressionParameters here = to_parameters(path.map->map(parameters), d);
    return regression_risk(plan.problem, run.attention, run.L, here, nodes, execution).value;
  };
  double count = 0, mean = 0, squares = 0;
  for (const TrajectoryPoint& point : run.path.points()) {
    if (point.time < kFrom * run.path.end()) continue;
    const double excess = risk_at(run, point.parameters) - risk_at(flow, flow.path.at(point.time));
    const double change = excess - mean;
    mean += change / ++count;
    squares += change * (excess - mean);
  }
  return {mean, count > 1 ? std::sqrt(squares / (count - 1)) : 0};
}

struct Job {
  TrainingMethod method;
  AttentionKind attention;
  double L;
};

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
}

}  // namespace

double prediction_distance(const RegressionProblem& problem, const RegressionParameters& one,
                           const RegressionParameters& two) {
  const Eigen::Index d = problem.dimension();
  const Matrix root = covariance_root(kName, "prior_covariance", problem.prior_covariance).root;
  double square = 0;
  visit_degree_five(root.cols(), [&](const Vector& omega, double weight) {
    const Vector w = root * omega;
    const auto predictor = [&](const RegressionParameters& at) {
      return Vector(at.U.leftCols(d).transpose() *
                    token_covariance_product(problem.covariance, problem.noise, w, at.v));
    };
    const Vector difference = predictor(one) - predictor(two);
    square += weight * difference.dot(problem.query_covariance * difference);
  });
  return std::abs(problem.score_scale) * std::sqrt(std::max(square, 0.0));
}

Estimate regression_risk(const RegressionProblem& problem, AttentionKind attention, double L,
                         const RegressionParameters& parameters, const TaskNodes& nodes,
                         const Execution& execution) {
  const Eigen::Index d = problem.dimension();
  const Vector values = to_vector(parameters);
  const bool invariant = parameters.U.row(d).head(d).isZero(0) && parameters.v.head(d).isZero(0);
  const RiskPoint point =
      invariant ? invariant_risk(problem, attention, L)->at(invariant_map(d)->pull_back(values, values))
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
  const TrainingRun limit = flow_run(plan, AttentionKind::softmax, kInfinity, execution);
  std::vector<TrainingRun> runs(jobs.size());
  std::vector<std::size_t> order(jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool flow_a = jobs[a].method == TrainingMethod::flow,
               flow_b = jobs[b].method == TrainingMethod::flow;
    return flow_a != flow_b ? flow_a : jobs[a].L > jobs[b].L;
  });
  double work = 0, done = 0;
  const auto work_of = [](const Job& job) { return job.method == TrainingMethod::flow ? 0 : job.L + 30; };
  for (const Job& job : jobs) work += work_of(job);
  std::mutex mutex;
  Execution inner = execution;
  inner.threads = 1;
  std::atomic<std::size_t> next = 0;
  parallel_for(static_cast<std::ptrdiff_t>(jobs.size()), execution, [&](std::ptrdiff_t) {
    const std::size_t i = order[next++];
    const Job& job = jobs[i];
    if (job.method == TrainingMethod::flow) {
      runs[i] = std::isinf(job.L) ? limit : flow_run(plan, job.attention, job.L, inner);
      runs[i].attention = job.attention;
      runs[i].gradient_gap = std::isinf(job.L) ? 0 : gradient_gap(plan, runs[i], limit, inner);
    } else {
      DescentOptions options = plan.descent;
      options.execution.stop = execution.stop;
      double mine = 0;
      options.progress = [&](double share) {
        if (!plan.progress) return;
        const std::lock_guard lock(mutex);
        done += work_of(job) * (share - mine);
        mine = share;
        plan.progress(done / work);
      };
      runs[i] = descent_run(plan, job.attention, job.L, options);
    }
    runs[i].to_limit_flow = path_distance(plan.problem, runs[i], limit);
  });
  parallel_for(static_cast<std::ptrdiff_t>(runs.size()), execution, [&](std::ptrdiff_t i) {
    TrainingRun& run = runs[static_cast<std::size_t>(i)];
    if (run.method != TrainingMethod::descent) return;
    for (const TrainingRun& flow : runs) {
      if (flow.method == TrainingMethod::flow && flow.L == run.L && flow.attention == run.attention) {
        run.to_flow = path_distance(plan.problem, run, flow);
        run.noise = noise_around(plan, run, flow, inner);
      }
    }
  });
  return runs;
}

}  // namespace largo
