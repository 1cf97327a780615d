// Training of in-context regression: flows and stochastic descents.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "icl_arguments.hpp"
#include "largo/icl/published_experiment.hpp"
#include "largo/icl/training/train.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
#include "scalars.hpp"
#include "training_arguments.hpp"

namespace largo::python {
namespace {

using namespace py::literals;
constexpr const char* kName = "icl.train";
constexpr std::int64_t kRecords = 100;

py::dict supremum(const TrajectoryDistance& distance) {
  return py::dict("value"_a = distance.value, "time"_a = distance.time);
}

py::dict to_dict(const PathDistance& distance) {
  return py::dict("parameters"_a = supremum(distance.parameters),
                  "predictions"_a = supremum(distance.predictions));
}

template <typename Value>
void set(py::dict& dict, const char* name, const std::optional<Value>& value) {
  if (value) dict[name] = *value;
}

// Parameters (U, v) at every point of the path, one in each row.
void add_path(py::dict& dict, const TrainingRun& run) {
  const auto& points = run.path.points();
  const auto n = std::ssize(points);
  Vector times(n), risks(n), gradients(n);
  RowMatrix parameters(n, run.map->mapped_size());
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const TrajectoryPoint& point = points[static_cast<std::size_t>(i)];
    times[i] = point.time;
    risks[i] = point.risk;
    gradients[i] = point.gradient_norm;
    parameters.row(i) = run.map->map(point.parameters).transpose();
  }
  dict["times"] = to_numpy(std::move(times));
  dict["risks"] = to_numpy(std::move(risks));
  dict["gradient_norms"] = to_numpy(std::move(gradients));
  dict["parameters"] = to_numpy(std::move(parameters));
}

py::dict to_dict(const TrainingRun& run) {
  py::dict dict("L"_a = run.L, "attention"_a = run.attention == AttentionKind::softmax ? "softmax" : "linear",
                "method"_a = run.method == TrainingMethod::flow ? "flow" : "sgd", "seed"_a = run.seed,
                "final_risk"_a = run.final_risk.value, "risk_error"_a = run.final_risk.error,
                "stationary"_a = run.stationary, "flat"_a = run.flat, "steps"_a = run.steps);
  dict["U"] = to_numpy(run.last.U);
  dict["v"] = to_numpy(Vector(run.last.v));
  add_path(dict, run);
  set(dict, "record_error", run.record_error);
  set(dict, "balance_drift", run.balance_drift);
  set(dict, "distance_to_theorem_limit", run.to_theorem);
  set(dict, "gradient_gap", run.gradient_gap);
  if (run.to_limit_flow) dict["distances_to_limit_flow"] = to_dict(*run.to_limit_flow);
  if (run.to_flow) dict["distances_to_flow"] = to_dict(*run.to_flow);
  const auto noise = [](const DescentNoise& of) {
    return py::dict("excess"_a = of.excess, "spread"_a = of.spread);
  };
  if (run.noise) dict["noise"] = noise(*run.noise);
  if (run.predicted_noise) dict["predicted_noise"] = noise(*run.predicted_noise);
  return dict;
}

// How stochastic descent goes; the package fills in what is not given.
void read_descent(const py::dict& options, TrainingPlan& plan) {
  const std::int64_t steps = read_whole("steps", options["steps"]);
  plan.descent.steps = steps;
  plan.descent.record_every = std::max<std::int64_t>(1, steps / kRecords);
  plan.descent.optimiser = optimiser_of(kName, read_text("optimizer", options["optimizer"]));
  plan.descent.step_size = schedule_of(kName, read_text("schedule", options["schedule"]),
                                       read_real("step_size", options["step_size"]), steps);
  plan.batches.prompts = read_whole("batch", options["batch"]);
  plan.batches.seed = read_seed(options["seed"]);
  plan.seeds = read_whole("seeds", options["seeds"]);
  plan.batches.loss_factor = py::cast<double>(options["loss_factor"]);
  plan.batches.kernel =
      choose<PromptKernel>(kName, "kernel", read_text("kernel", options["kernel"]),
                           {{"collapsed", PromptKernel::collapsed}, {"full", PromptKernel::full}});
}

py::list train_(const RegressionProblem& problem, const std::vector<double>& lengths,
                const std::vector<std::string>& methods, const std::vector<std::string>& kinds,
                const Text<"parameters">& parameters, const py::object& start, const py::dict& options,
                Threads threads, const py::object& progress) {
  TrainingPlan plan;
  plan.problem = problem;
  plan.lengths = lengths;
  plan.methods.clear();
  for (const std::string& one : methods) {
    plan.methods.push_back(choose<TrainingMethod>(
        kName, "method", one, {{"flow", TrainingMethod::flow}, {"sgd", TrainingMethod::descent}}));
  }
  plan.attention.clear();
  for (const std::string& one : kinds) plan.attention.push_back(kind_of(kName, one));
  plan.parameters = choose<Parametrisation>(kName, "parameters", parameters.value,
                                            {{"invariant", Parametrisation::invariant},
                                             {"merged", Parametrisation::merged},
                                             {"factored", Parametrisation::factored}});
  plan.start = to_vector({kName, "start"}, start);
  if (plan.parameters == Parametrisation::factored) {
    plan.random_start = [d = problem.dimension()](std::uint64_t seed) {
      return random_factored_start(d, seed);
    };
  }
  read_descent(options, plan);
  if (!options["time"].is_none()) {
    plan.flow.end = read_real("time", options["time"]);
    if (!(plan.flow.end > 0)) fail(kName, "time", plan.flow.end, "positive");
  } else if (py::cast<bool>(options["as_long_as_sgd"])) {
    plan.flow.end = 2 * plan.batches.loss_factor * duration_of(plan.descent.step_size, plan.descent.steps);
  } else if (plan.parameters != Parametrisation::invariant) {
    plan.flow.end = 1000;
  }
  if (!options["tolerance"].is_none()) {
    plan.flow.relative_tolerance = plan.node_tolerance = py::cast<double>(options["tolerance"]);
    plan.flow.absolute_tolerance = 1e-3 * plan.flow.relative_tolerance;
  }
  plan.nodes = {read_whole("nodes", options["nodes"]), read_seed(options["seed"])};
  if (!options["checkpoints"].is_none()) {
    plan.checkpoints = py::cast<std::string>(py::str(options["checkpoints"]));
  }
  std::vector<TrainingRun> runs;
  watch(progress, threads.value, [&](Call& call) {
    plan.progress = [&](double share) { call.show(share); };
    runs = train(plan, call.execution());
  });
  py::list all;
  for (const TrainingRun& run : runs) all.append(to_dict(run));
  return all;
}

}  // namespace

void bind_training(py::module_& module) {
  module.def("icl_train", &train_);
  module.def("icl_random_start",
             [](Whole<"d"> d, Seed seed) { return to_numpy(random_factored_start(d.value, seed.value)); });
  module.attr("PUBLISHED_STEPS") = kPublishedSteps;
  module.attr("PUBLISHED_STEP_SIZE") = kPublishedStepSize;
  module.attr("PUBLISHED_BATCH") = kPublishedBatch;
  module.def("published_lengths", [] { return published_lengths(); });
}

}  // namespace largo::python
