#include "python_task.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "arrays.hpp"
#include "interpreter.hpp"
#include "largo/runtime/check.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

// A number, or a vector of so many.
Vector target_of(const char* who, const py::object& target, Eigen::Index size) {
  const Argument argument{who, "the target"};
  const DoubleArray array = double_array(argument, target);
  if (array.ndim() > 1 || array.size() != size) {
    const std::string shape = py::str(array.attr("shape"));
    fail(who, "shape of the target", shape,
         size == 1 ? "that of a number: or give the task its output_dimension"
                   : fmt::format("({},), the output_dimension of the task", size));
  }
  return Eigen::Map<const Vector>(array.data(), size);
}

}  // namespace

PythonTask::PythonTask(Eigen::Index token_dimension, Eigen::Index query_dimension,
                       Eigen::Index output_dimension)
    : token_dimension_(token_dimension),
      query_dimension_(query_dimension),
      output_dimension_(output_dimension) {
  if (token_dimension < 1 || query_dimension < 1 || output_dimension < 1) {
    fail("icl.Task", "a dimension", "below 1", "at least 1");
  }
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
          target_of(who.c_str(), target, output_dimension_)};
}

PromptTaskPtr to_task(const char* function, const py::object& task) {
  if (!py::isinstance<PromptTask>(task)) refuse_type({function, "task"}, "must be an icl.Task");
  return {kept_alive(task), py::cast<const PromptTask*>(task)};
}

}  // namespace largo::python
