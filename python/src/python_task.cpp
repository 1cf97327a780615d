#include "python_task.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "arrays.hpp"
#include "interpreter.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

class PythonLoss final : public Loss {
 public:
  explicit PythonLoss(py::object function) : function_(kept_alive(std::move(function))) {}

  LossPoint at(double output, double target) const override {
    const Locked lock;
    const py::handle function(static_cast<PyObject*>(const_cast<void*>(function_.get())));
    const py::object result = call(function, output, target);
    if (!py::isinstance<py::sequence>(result) || py::len(result) != 2) {
      refuse_type({"icl.prompt_risk", "loss"}, "must return a pair (value, slope)");
    }
    const py::object value = result[py::int_(0)], slope = result[py::int_(1)];
    const LossPoint point{read_real("value of the loss", value), read_real("slope of the loss", slope)};
    check_finite("icl.prompt_risk", "value of the loss", point.value);
    check_finite("icl.prompt_risk", "slope of the loss", point.slope);
    return point;
  }

 private:
  std::shared_ptr<const void> function_;
};

}  // namespace

PythonTask::PythonTask(Eigen::Index token_dimension, Eigen::Index query_dimension)
    : token_dimension_(token_dimension), query_dimension_(query_dimension) {
  if (token_dimension < 1 || query_dimension < 1) fail("icl.Task", "a dimension", "below 1", "at least 1");
}

PromptDraw PythonTask::draw(const Stream& stream) const {
  const Locked lock;
  const py::function draw = py::get_override(static_cast<const PromptTask*>(this), "draw");
  if (!draw) {
    PyErr_SetString(PyExc_NotImplementedError,
                    "icl.Task: a task of your own has to define draw(self, uniforms)");
    throw py::error_already_set();
  }
  const py::object self = draw.attr("__self__");
  const std::int64_t width =
      read_whole("uniforms_per_task", py::getattr(self, "uniforms_per_task", py::int_(token_dimension_)));
  if (width < 1) fail("icl.Task", "uniforms_per_task", static_cast<double>(width), "at least 1");
  Vector uniforms(width);
  stream.uniforms(0, {uniforms.data(), static_cast<std::size_t>(width)});
  const py::object result = call(draw, to_numpy(std::move(uniforms)));
  const std::string who = fmt::format("{}.draw", std::string(py::str(py::type::of(self).attr("__name__"))));
  if (!py::isinstance<py::sequence>(result) || py::len(result) != 3) {
    refuse_type({who.c_str(), "the result"}, "must be a law, a query and a target");
  }
  const py::object law = result[py::int_(0)], query = result[py::int_(1)], target = result[py::int_(2)];
  if (!py::isinstance<Measure>(law)) refuse_type({who.c_str(), "the law"}, "must be a largo.Law");
  return {to_law({who.c_str(), "the law"}, law), to_vector({who.c_str(), "the query"}, query),
          read_real("target", target)};
}

LossPtr to_loss(const py::object& loss) {
  if (py::isinstance<py::str>(loss)) {
    const auto name = py::cast<std::string>(loss);
    if (name == "squared") return squared_loss();
    if (name == "logistic") return logistic_loss();
    fail("icl.prompt_risk", "loss", fmt::format("'{}'", name), "squared, logistic or a function");
  }
  if (PyCallable_Check(loss.ptr()) == 0) {
    refuse_type({"icl.prompt_risk", "loss"},
                "must be a name or a function (output, target) -> (value, slope)");
  }
  return std::make_shared<PythonLoss>(loss);
}

}  // namespace largo::python
