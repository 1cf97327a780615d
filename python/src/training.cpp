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
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/training_plan.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
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

TrainingRequest request_of(const RegressionProblem& problem, const py::dict& options) {
  const auto whole = [](const char* name, const py::object& value) { return read_whole(name, value); };
  const auto real = [](const char* name, const py::object& value) { return read_real(name, value); };
  const auto text = [](const char* name, const py::object& value) { return read_text(name, value); };
  TrainingRequest request;
  request.function = kName;
  request.problem = problem;
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
  if (!options["start"].is_none()) request.start = point_of(problem.dimension(), options["start"]);
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

py::list train_(const RegressionProblem& problem, const py::dict& options, Threads threads,
                const py::object& progress) {
  TrainingPlan plan = make_training_plan(request_of(problem, options)).plan;
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

void bind_training(py::module_& module) { module.def("icl_train", &train_); }

}  // namespace largo::python
