// In-context learning of any task with any loss: risks and their gradients over prompts of every length.
#include <memory>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "docs.hpp"
#include "icl_arguments.hpp"
#include "largo/icl/mixture_classification.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
#include "python_task.hpp"
#include "recipes.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

constexpr const char* kName = "icl.prompt_risk";

// The task, kept alive because it may be defined in Python.
PromptTaskPtr task_of(const py::object& task) {
  if (!py::isinstance<PromptTask>(task)) refuse_type({kName, "task"}, "must be an icl.Task");
  return {kept_alive(task), py::cast<const PromptTask*>(task)};
}

// U (by columns), then v: those given, or those of a point on the invariant set.
Vector head_of(const PromptTask& task, const py::object& point, const py::object& U, const py::object& v) {
  const Eigen::Index d = task.token_dimension(), e = task.query_dimension();
  if (!point.is_none()) {
    if (d != e)
      fail(kName, "point", "given", "left out where tokens and queries differ in size: give U and v");
    return largo::to_vector(parameters_of(d - 1, point, U, v));
  }
  if (U.is_none() || v.is_none()) fail(kName, "give either point, or U and v");
  const Matrix scores = to_matrix({kName, "U"}, U, d, e);
  const Vector values = to_vector({kName, "v"}, v);
  check_shape(kName, "U", scores.rows(), scores.cols(), d, e);
  check_size(kName, "v", values.size(), d);
  Vector head(d * e + d);
  head << scores.reshaped(), values;
  return head;
}

py::tuple prompt_risk(const py::object& task, const std::vector<double>& lengths, const py::object& point,
                      const py::object& U, const py::object& v, const py::object& loss,
                      const Text<"attention">& attention, Real<"score_scale"> score_scale,
                      Whole<"prompts"> prompts, Seed seed, Threads threads, const py::object& progress) {
  PromptSetting setting{task_of(task), to_loss(loss)};
  setting.attention = kind_of(kName, attention.value);
  setting.score_scale = score_scale.value;
  setting.seed = seed.value;
  const Eigen::Index d = setting.task->token_dimension(), e = setting.task->query_dimension();
  const Vector head = head_of(*setting.task, point, U, v);
  const auto n = std::ssize(lengths);
  Vector values(n), errors(n);
  RowMatrix slopes_U(n * d, e), slopes_v(n, d);
  watch(progress, threads.value, [&](Call& call) {
    for (Eigen::Index i = 0; i < n; ++i) {
      setting.length = lengths[static_cast<std::size_t>(i)];
      // Prompts are used once here, so nothing is gained by keeping them.
      const RiskPoint one = PromptRisk(setting, prompts.value, call.execution(), 0).at(head);
      values[i] = one.value;
      errors[i] = one.error;
      slopes_U.middleRows(i * d, d) = one.gradient.head(d * e).reshaped(d, e);
      slopes_v.row(i) = one.gradient.tail(d).transpose();
      call.show(static_cast<double>(i + 1) / static_cast<double>(n));
    }
  });
  return py::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(errors)),
                        to_numpy(std::move(slopes_U)).attr("reshape")(n, d, e),
                        to_numpy(std::move(slopes_v)));
}

}  // namespace

void bind_tasks(py::module_& module) {
  py::class_<PromptTask, PythonTask, std::shared_ptr<PromptTask>>(module, "Task", docs::kTask,
                                                                  py::dynamic_attr())
      .def(py::init([](Whole<"token_dimension"> tokens, Whole<"query_dimension"> queries) {
             return new PythonTask(tokens.value, queries.value);
           }),
           py::arg("token_dimension"), py::arg("query_dimension"))
      .def_property_readonly("token_dimension", &PromptTask::token_dimension, "Of the tokens.")
      .def_property_readonly("query_dimension", &PromptTask::query_dimension, "Of the query.")
      .def("__reduce__", [module](const py::object& self) {
        const auto& task = py::cast<const PromptTask&>(self);
        return reduce(self, module.attr("Task"),
                      py::make_tuple(task.token_dimension(), task.query_dimension()));
      });
  py::class_<MixtureClassification, PromptTask, std::shared_ptr<MixtureClassification>>(
      module, "Classification", docs::kClassification, py::is_final())
      .def(py::init([](Real<"mean_scale"> mean_scale, const py::object& covariance) {
             return std::make_shared<MixtureClassification>(
                 mean_scale.value, to_matrix({"icl.Classification", "covariance"}, covariance, std::nullopt));
           }),
           py::arg("mean_scale"), py::arg("covariance"));
  remember_construction(module.attr("Classification"));
  module.def("icl_prompt_risk", &prompt_risk);
}

}  // namespace largo::python
