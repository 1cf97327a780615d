// Gradient flow and stochastic descent on any risk that is a Python function.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "largo/runtime/check.hpp"
#include "largo/training/gradient_flow.hpp"
#include "largo/training/stochastic_descent.hpp"
#include "module.hpp"
#include "scalars.hpp"
#include "training_arguments.hpp"

namespace largo::python {
namespace {

using namespace py::literals;

// A Python function that returns (value, gradient). What it raises is passed on unchanged.
class Function {
 public:
  Function(const char* name, const py::object& function) : name_(name) {
    if (PyCallable_Check(function.ptr()) == 0) {
      refuse_type({name, "risk"}, "must be a function that returns (value, gradient)");
    }
    function_ = kept_alive(function);
  }

  template <typename... More>
  RiskPoint operator()(const ConstVectorRef& parameters, More... more) const {
    const Locked lock;
    const py::handle function(static_cast<PyObject*>(const_cast<void*>(function_.get())));
    const py::object result = call(function, to_numpy(Vector(parameters)), more...);
    if (!py::isinstance<py::sequence>(result) || py::len(result) != 2) {
      refuse_type({name_, "risk"}, "must return a pair (value, gradient)");
    }
    const py::object value = result[py::int_(0)], slope = result[py::int_(1)];
    RiskPoint point;
    point.value = read_real("value of the risk", value);
    point.gradient = to_vector({name_, "gradient"}, slope);
    check_size(name_, "gradient", point.gradient.size(), parameters.size());
    return point;
  }

 private:
  const char* name_;
  std::shared_ptr<const void> function_;
};

class PythonRisk final : public Risk {
 public:
  PythonRisk(Function function, Eigen::Index size) : function_(std::move(function)), size_(size) {}
  Eigen::Index size() const override { return size_; }
  RiskPoint at(const ConstVectorRef& parameters) const override {
    RiskPoint point = function_(parameters);
    check_finite("training.flow", "value of the risk", point.value);
    check_finite("training.flow", "gradient", point.gradient);
    return point;
  }

 private:
  Function function_;
  Eigen::Index size_;
};

class PythonBatches final : public StochasticRisk {
 public:
  PythonBatches(Function function, Eigen::Index size) : function_(std::move(function)), size_(size) {}
  Eigen::Index size() const override { return size_; }
  RiskPoint batch(const ConstVectorRef& parameters, std::int64_t step) const override {
    return function_(parameters, step);
  }

 private:
  Function function_;
  Eigen::Index size_;
};

py::dict flow(const py::object& risk, const py::object& start, Real<"time"> time, Real<"tolerance"> tolerance,
              Real<"stationary_tolerance"> stationary, const Text<"method">& method,
              Whole<"most_steps"> most_steps) {
  constexpr const char* kName = "training.flow";
  const Vector from = to_vector({kName, "start"}, start);
  const PythonRisk function(Function(kName, risk), from.size());
  FlowPlan plan;
  plan.end = time.value;
  plan.method = choose<FlowMethod>(kName, "method", method.value,
                                   {{"dense", FlowMethod::dense}, {"krylov", FlowMethod::krylov}});
  plan.relative_tolerance = tolerance.value;
  plan.absolute_tolerance = 1e-3 * tolerance.value;
  plan.stationary_tolerance = stationary.value;
  plan.most_steps = most_steps.value;
  FlowResult result;
  watch(py::none(), 1,
        [&](const Call& call) { result = gradient_flow(function, from, plan, call.execution()); });
  const auto& points = result.trajectory.points();
  const auto n = std::ssize(points);
  Vector times(n), risks(n), norms(n);
  RowMatrix path(n, from.size());
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const TrajectoryPoint& point = points[static_cast<std::size_t>(i)];
    times[i] = point.time;
    risks[i] = point.risk;
    norms[i] = point.gradient_norm;
    path.row(i) = point.parameters.transpose();
  }
  return py::dict("times"_a = to_numpy(std::move(times)), "path"_a = to_numpy(std::move(path)),
                  "risks"_a = to_numpy(std::move(risks)), "gradient_norms"_a = to_numpy(std::move(norms)),
                  "stationary"_a = result.stationary, "flat"_a = result.flat,
                  "to_go"_a = result.to_go ? py::object(py::float_(*result.to_go)) : py::none(),
                  "evaluations"_a = result.evaluations);
}

py::dict descend_(const py::object& batch, const py::object& start, Whole<"steps"> steps,
                  Real<"step_size"> step_size, const Text<"schedule">& schedule,
                  const Text<"optimizer">& optimizer, Whole<"records"> records, const py::object& checkpoint,
                  const py::object& progress) {
  constexpr const char* kName = "training.descend";
  DescentState state;
  state.parameters = to_vector({kName, "start"}, start);
  const PythonBatches batches(Function(kName, batch), state.parameters.size());
  DescentOptions options;
  options.optimizer = optimizer_of(kName, optimizer.value);
  check_positive(kName, "step_size", step_size.value);
  if (steps.value < 1) fail(kName, "steps", static_cast<double>(steps.value), "at least 1");
  options.step_size = make_schedule(schedule_of(kName, schedule.value), step_size.value, steps.value);
  options.steps = steps.value;
  if (records.value < 1) fail(kName, "records", static_cast<double>(records.value), "at least 1");
  options.record_every = std::max<std::int64_t>(1, steps.value / records.value);
  if (!checkpoint.is_none()) {
    options.checkpoint = py::cast<std::string>(py::str(checkpoint));
    state.run = descent_name(state.parameters, options);
    if (std::filesystem::exists(options.checkpoint)) state = load_descent(options.checkpoint, state.run);
  }
  watch(progress, 1, [&](Call& call) {
    options.progress = [&](double share) { call.show(share); };
    options.execution = call.execution();
    state = descend(batches, std::move(state), options);
  });
  const auto n = std::ssize(state.records);
  Vector times(n), losses(n);
  RowMatrix path(n, state.parameters.size());
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const DescentRecord& record = state.records[static_cast<std::size_t>(i)];
    times[i] = record.time;
    losses[i] = record.loss;
    path.row(i) = record.parameters.transpose();
  }
  if (!losses.allFinite() || !path.allFinite()) {
    fail(kName, "the descent diverged: losses or parameters are beyond float64; take smaller steps");
  }
  return py::dict("times"_a = to_numpy(std::move(times)), "path"_a = to_numpy(std::move(path)),
                  "losses"_a = to_numpy(std::move(losses)), "steps"_a = state.step);
}

}  // namespace

void bind_any_training(py::module_& module) {
  module.def("training_flow", &flow);
  module.def("training_descend", &descend_);
}

}  // namespace largo::python
