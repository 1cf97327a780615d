// Training in context: flows and stochastic descents.
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
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
#include "python_loss.hpp"
#include "python_task.hpp"
#include "scalars.hpp"
#include "training_arguments.hpp"

namespace largo::python {
namespace {

using namespace py::literals;
constexpr const char* kName = "icl.train";

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
  const py::object L =
      run.L.is_one_length() ? py::object(py::float_(run.L.longest())) : py::str(run.L.name());
  py::dict dict("L"_a = L, "attention"_a = name_of(run.attention),
                "method"_a = run.method == TrainingMethod::flow ? "flow" : "sgd", "seed"_a = run.seed,
                "final_risk"_a = run.final_risk.value, "risk_error"_a = run.final_risk.error,
                "stationary"_a = run.stationary, "flat"_a = run.flat, "steps"_a = run.steps);
  dict["U"] = to_numpy(run.last.U);
  dict["v"] = to_numpy(Vector(run.last.v));
  add_path(dict, run);
  if (!run.evaluated.empty()) {
    Vector risks(std::ssize(run.evaluated)), errors(risks.size());
    for (Eigen::Index i = 0; i < risks.size(); ++i) {
      risks[i] = run.evaluated[static_cast<std::size_t>(i)].value;
      errors[i] = run.evaluated[static_cast<std::size_t>(i)].error;
    }
    dict["evaluated"] = to_numpy(std::move(risks));
    dict["evaluated_errors"] = to_numpy(std::move(errors));
  }
  if (run.average) dict["average"] = name_of(*run.average);
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

TrainingMethod method_of(const std::string& name) {
  return choose<TrainingMethod>(kName, "method", name,
                                {{"flow", TrainingMethod::flow}, {"sgd", TrainingMethod::descent}});
}

// Empty if the option is None.
template <typename Read>
auto given(const py::dict& options, const char* name, const Read& read) {
  std::optional<decltype(read(name, options[name]))> value;
  if (!options[name].is_none()) value = read(name, options[name]);
  return value;
}

// What is trained: a problem, or a task with its loss and the scale of its scores.
void set_problem(TrainingRequest& request, const py::object& problem, const py::dict& options) {
  if (py::isinstance<RegressionProblem>(problem)) {
    request.problem = py::cast<RegressionProblem>(problem);
    return;
  }
  const double scale = read_real("score_scale", options["score_scale"]);
  request.other = {to_task(kName, problem), to_loss(kName, options["loss"]), scale};
}

HeadSizes sizes_of(const TrainingRequest& request) {
  if (!request.other) return {request.problem.dimension() + 1, request.problem.dimension() + 1, 1};
  const PromptTask& task = *request.other->task;
  return {task.token_dimension(), task.query_dimension(), task.output_dimension()};
}

// (A, b) with a number b, or (U, v) with an array v; or what alpha and theta say.
void set_start(TrainingRequest& request, const py::dict& options) {
  const py::object start = options["start"], alpha = options["alpha"], theta = options["theta"];
  const bool named = !alpha.is_none() || !theta.is_none();
  if (start.is_none()) {
    if (!named) return;
    RegressionProblem problem = request.problem;
    if (request.other) {
      const auto exact = request.other->exact_regression();
      problem = exact ? *exact : moments_of(*request.other);
    }
    request.start = start_of(problem, alpha, theta.is_none() ? py::str("identity") : theta);
    return;
  }
  if (named) fail(kName, "alpha and theta make a start: give either these, or start");
  if (!py::isinstance<py::sequence>(start) || py::isinstance<py::str>(start) || py::len(start) != 2) {
    refuse_type({kName, "start"}, "must be a pair (A, b) or (U, v)");
  }
  const HeadSizes sizes = sizes_of(request);
  const py::object first = start[py::int_(0)], second = start[py::int_(1)];
  if (py::cast<int>(py::module_::import("numpy").attr("ndim")(second)) > 0) {
    request.head = head_of(kName, sizes, first, second);
    return;
  }
  if (sizes.tokens != sizes.queries || sizes.outputs != 1 || sizes.tokens < 2) {
    fail(kName, "start", "(A, b)",
         "(U, v) for this task, with tokens and queries of different size or several outputs");
  }
  request.start = point_of(sizes.tokens - 1, start);
}

TrainingRequest request_of(const py::object& problem, const py::dict& options) {
  const auto whole = [](const char* name, const py::object& value) { return read_whole(name, value); };
  const auto real = [](const char* name, const py::object& value) { return read_real(name, value); };
  const auto text = [](const char* name, const py::object& value) { return read_text(name, value); };
  TrainingRequest request;
  request.function = kName;
  set_problem(request, problem, options);
  request.prompts = given(options, "prompts", whole);
  if (py::cast<bool>(options["common_draws"])) request.sampling = PromptSampling::always;
  request.published = py::cast<bool>(options["published"]);
  request.methods.clear();
  for (const auto& name : py::cast<std::vector<std::string>>(options["method"])) {
    request.methods.push_back(method_of(name));
  }
  for (const auto& name : py::cast<std::vector<std::string>>(options["attention"])) {
    request.attention.push_back(kind_of(kName, name));
  }
  request.lengths = lengths_of(options["L"]);
  request.evaluate = lengths_of(options["evaluate"]);
  if (const auto name = given(options, "parameters", text)) {
    request.parameters = choose<Parametrisation>(kName, "parameters", *name,
                                                 {{"invariant", Parametrisation::invariant},
                                                  {"merged", Parametrisation::merged},
                                                  {"factored", Parametrisation::factored}});
  }
  set_start(request, options);
  request.time = given(options, "time", real);
  request.tolerance = given(options, "tolerance", real);
  request.nodes = given(options, "nodes", whole).value_or(request.nodes);
  request.seed = read_seed(options["seed"]);
  request.steps = given(options, "steps", whole);
  request.step_size = given(options, "step_size", real);
  request.batch = given(options, "batch", whole);
  if (const auto name = given(options, "optimizer", text)) request.optimizer = optimizer_of(kName, *name);
  if (const auto name = given(options, "schedule", text)) request.schedule = schedule_of(kName, *name);
  if (const auto name = given(options, "kernel", text)) {
    request.kernel = choose<PromptKernel>(
        kName, "kernel", *name, {{"collapsed", PromptKernel::collapsed}, {"full", PromptKernel::full}});
  }
  request.seeds = read_whole("seeds", options["seeds"]);
  if (!options["checkpoints"].is_none()) {
    request.checkpoints = py::cast<std::string>(py::str(options["checkpoints"]));
  }
  return request;
}

py::list train_(const py::object& problem, const py::dict& options, Threads threads,
                const py::object& progress) {
  const TrainingRequest request = request_of(problem, options);
  std::vector<TrainingRun> runs;
  watch(progress, threads.value, [&](Call& call) {
    TrainingPlan plan = make_training_plan(request).plan;
    plan.progress = [&](double share) { call.show(share); };
    runs = train(plan, call.execution());
  });
  py::list all;
  for (const TrainingRun& run : runs) all.append(to_dict(run));
  return all;
}

}  // namespace

void bind_training(py::module_& module) { module.def("icl_train", &train_); }

}  // namespace largo::python
