// In-context learning of any task with any loss: risks and their gradients over prompts of every length, and
// thresholds.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "docs.hpp"
#include "icl_arguments.hpp"
#include "largo/icl/bayes_risk.hpp"
#include "largo/icl/in_context_problem.hpp"
#include "largo/icl/mixture_classification.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_problem.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/icl/training/make_training_plan.hpp"
#include "largo/icl/training/task_threshold.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
#include "python_loss.hpp"
#include "python_task.hpp"
#include "recipes.hpp"
#include "regression_arguments.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using namespace py::literals;
constexpr const char* kThreshold = "icl.threshold";

// U (by columns), then v (by rows): those given, or those of a point on the invariant set.
Vector values_of(const char* function, const PromptTask& task, const py::object& point, const py::object& U,
                 const py::object& v) {
  const Eigen::Index d = task.token_dimension(), e = task.query_dimension(), m = task.output_dimension();
  RegressionParameters head;
  if (!point.is_none()) {
    if (d != e || m != 1 || d < 2) {
      fail(function, "point", "given",
           "left out for this task, with tokens and queries of different size or several outputs: give U "
           "and v");
    }
    head = parameters_of(d - 1, point, U, v);
  } else {
    if (U.is_none() || v.is_none()) fail(function, "give either point, or U and v");
    head = head_of(function, {d, e, m}, U, v);
  }
  Vector values(head.U.size() + head.v.size());
  values << head.U.reshaped(), head.v;
  return values;
}

// A setting at no length yet.
PromptSetting setting_of(const char* function, const py::object& task, const py::object& loss, Seed seed) {
  PromptSetting setting{to_task(function, task), to_loss(function, loss)};
  setting.seed = seed.value;
  return setting;
}

py::tuple prompt_risk(const std::string& function, const py::object& task, const py::sequence& given,
                      const py::object& point, const py::object& U, const py::object& v,
                      const py::object& loss, const Text<"attention">& attention,
                      Real<"score_scale"> score_scale, Whole<"prompts"> prompts, Seed seed, Threads threads,
                      const py::object& progress) {
  const char* name = function.c_str();
  PromptSetting setting = setting_of(name, task, loss, seed);
  setting.attention = kind_of(name, attention.value);
  setting.score_scale = score_scale.value;
  const Eigen::Index d = setting.task->token_dimension(), e = setting.task->query_dimension(),
                     m = setting.task->output_dimension();
  const Vector head = values_of(name, *setting.task, point, U, v);
  const std::vector<LengthLaw> lengths = lengths_of(given);
  const auto n = std::ssize(lengths);
  Vector values(n), errors(n);
  RowMatrix slopes_U(n * d, e), slopes_v(n, m * d);
  std::vector<std::string> averages;
  watch(progress, threads.value, [&](Call& call) {
    for (Eigen::Index i = 0; i < n; ++i) {
      setting.length = lengths[static_cast<std::size_t>(i)];
      // Prompts are used once here, so nothing is gained by keeping them.
      const PromptRisk risk(setting, prompts.value, call.execution(), 0);
      const RiskPoint one = risk.at(head);
      values[i] = one.value;
      errors[i] = one.error;
      slopes_U.middleRows(i * d, d) = one.gradient.head(d * e).reshaped(d, e);
      slopes_v.row(i) = one.gradient.tail(m * d).transpose();
      averages.emplace_back(name_of(risk.average()));
      call.show(static_cast<double>(i + 1) / static_cast<double>(n));
    }
  });
  py::object v_slopes = to_numpy(std::move(slopes_v));
  if (m > 1) v_slopes = v_slopes.attr("reshape")(n, m, d);
  return py::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(errors)),
                        to_numpy(std::move(slopes_U)).attr("reshape")(n, d, e), v_slopes, averages);
}

py::object learner_risk_(const py::object& task, const py::sequence& given, const py::object& loss,
                         Whole<"prompts"> prompts, Seed seed, Threads threads, const py::object& progress) {
  constexpr const char* kName = "icl.learner_risk";
  PromptSetting setting = setting_of(kName, task, loss, seed);
  const std::vector<LengthLaw> lengths = lengths_of(given);
  if (setting.task->learner().empty()) return py::none();
  const auto n = std::ssize(lengths);
  Vector values(n), errors(n);
  watch(progress, threads.value, [&](Call& call) {
    for (Eigen::Index i = 0; i < n; ++i) {
      setting.length = lengths[static_cast<std::size_t>(i)];
      const Estimate one = learner_risk(setting, prompts.value, call.execution()).value();
      values[i] = one.value;
      errors[i] = one.error;
      call.show(static_cast<double>(i + 1) / static_cast<double>(n));
    }
  });
  return py::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(errors)));
}

py::object bayes_risk_(const py::object& task, const py::sequence& given, const py::object& loss,
                       Whole<"prompts"> prompts, Seed seed, Threads threads, const py::object& progress) {
  constexpr const char* kName = "icl.bayes_risk";
  PromptSetting setting = setting_of(kName, task, loss, seed);
  const std::vector<LengthLaw> lengths = lengths_of(given);
  const auto n = std::ssize(lengths);
  for (const LengthLaw& L : lengths) {
    if (L.is_infinite()) fail(kName, "L", "inf", "finite: an infinite prompt tells the task");
  }
  Matrix found(n, 4);
  bool is_known = true;
  watch(progress, threads.value, [&](Call& call) {
    for (Eigen::Index i = 0; i < n && is_known; ++i) {
      setting.length = lengths[static_cast<std::size_t>(i)];
      const std::optional<BayesRisk> one = bayes_risk(setting, prompts.value, call.execution());
      is_known = one.has_value();
      if (one) found.row(i) << one->value, one->error, one->excess, one->poor;
      call.show(static_cast<double>(i + 1) / static_cast<double>(n));
    }
  });
  if (!is_known) return py::none();
  return py::make_tuple(to_numpy(Vector(found.col(0))), to_numpy(Vector(found.col(1))),
                        to_numpy(Vector(found.col(2))), to_numpy(Vector(found.col(3))));
}

// One length of a threshold: (L, (risk, its error), (excess, its error)).
py::tuple to_row(const TrainedExcess& one) {
  return py::make_tuple(one.L, py::make_tuple(one.risk.value, one.risk.error),
                        py::make_tuple(one.excess.value, one.excess.error));
}

// The exact threshold, with errors of zero.
TaskThreshold as_task_threshold(const Threshold& exact, double epsilon) {
  TaskThreshold found{epsilon,          exact.L, exact.before.L,      exact.L, {exact.risk, 0},
                      {exact.limit, 0}, {},      PromptAverage::exact};
  for (const TrainedRisk& one : exact.tried) {
    found.tried.push_back({one.L, {one.risk, 0}, {one.risk - exact.limit, 0}});
  }
  std::sort(found.tried.begin(), found.tried.end(),
            [](const TrainedExcess& a, const TrainedExcess& b) { return a.L < b.L; });
  return found;
}

// What is trained to find the threshold of a task: the paper's start, or that of alpha and theta.
TrainingRequest threshold_request(const InContextProblem& problem, const py::object& prompts, Seed seed,
                                  const py::object& alpha, const py::object& theta) {
  const PromptTask& task = *problem.task;
  const Eigen::Index d = task.token_dimension(), m = task.output_dimension();
  const bool named = !alpha.is_none() || !theta.is_none();
  if (d != task.query_dimension() || d <= m) {
    fail(kThreshold, "task",
         fmt::format("one with {} numbers in a token, {} in a query and {} in an output", d,
                     task.query_dimension(), m),
         "one whose tokens (x, y) have the size of its queries (x, 0): others have no usual start");
  }
  if (!problem.loss->is_smooth()) {
    fail(kThreshold, "loss: its slope jumps, and flows need a smooth loss; take huber with a small delta");
  }
  if (named && m > 1) fail(kThreshold, "alpha and theta are for one output: leave them out");
  TrainingRequest request;
  request.function = kThreshold;
  request.other = problem;
  request.prompts = read_optional("prompts", prompts);
  request.seed = seed.value;
  if (named) {
    request.start = start_of(moments_of(problem), alpha, theta.is_none() ? py::str("identity") : theta);
  }
  return request;
}

py::dict task_threshold_(const py::object& task, Real<"epsilon"> epsilon, const py::object& loss,
                         Real<"score_scale"> score_scale, const py::object& prompts,
                         const Text<"attention">& attention, Seed seed, const py::object& alpha,
                         const py::object& theta, Threads threads, const py::object& progress) {
  check_positive(kThreshold, "epsilon", epsilon.value);
  const InContextProblem problem{to_task(kThreshold, task), to_loss(kThreshold, loss), score_scale.value};
  check_finite(kThreshold, "score_scale", score_scale.value);
  const AttentionKind kind = kind_of(kThreshold, attention.value);
  TaskThreshold found;
  if (const std::optional<RegressionProblem> exact = problem.exact_regression()) {
    if (const auto given = read_optional("prompts", prompts)) {
      fail(kThreshold, "prompts", fmt::format("{}", *given),
           "left out: this task has exact risks, for which no prompts are drawn");
    }
    const InvariantPoint start = start_of(*exact, alpha, theta.is_none() ? py::str("identity") : theta);
    found = as_task_threshold(watched_threshold(*exact, epsilon.value, start, kind, threads.value, progress),
                              epsilon.value);
  } else {
    const TrainingRequest request = threshold_request(problem, prompts, seed, alpha, theta);
    watch(progress, threads.value, [&](Call& call) {
      int tried = 0;
      const TrainingPlan plan = make_training_plan(request).plan;
      const auto show = [&](const TrainedExcess&) { call.show(std::min(0.95, ++tried / 15.0)); };
      found = task_threshold(plan, kind, epsilon.value, show, call.execution());
    });
  }
  py::list tried;
  for (const TrainedExcess& one : found.tried) tried.append(to_row(one));
  return py::dict("L"_a = found.L, "interval"_a = py::make_tuple(found.lower, found.upper),
                  "risk"_a = py::make_tuple(found.risk.value, found.risk.error),
                  "limit"_a = py::make_tuple(found.limit.value, found.limit.error), "tried"_a = tried,
                  "average"_a = name_of(found.average));
}

// The Python object has the type of the task itself.
py::tuple read_task(const std::string& path) {
  const InContextProblem problem = unlocked([&] { return read_task_file(path); });
  return py::make_tuple(std::const_pointer_cast<PromptTask>(problem.task),
                        std::const_pointer_cast<Loss>(problem.loss), problem.score_scale);
}

}  // namespace

void bind_tasks(py::module_& module) {
  py::class_<PromptTask, PythonTask, std::shared_ptr<PromptTask>>(module, "Task", docs::kTask,
                                                                  py::dynamic_attr())
      .def(py::init([](Whole<"token_dimension"> tokens, Whole<"query_dimension"> queries,
                       Whole<"output_dimension"> outputs) {
             return new PythonTask(tokens.value, queries.value, outputs.value);
           }),
           "__init__(self, token_dimension, query_dimension, output_dimension=1)\n--\n\n",
           py::arg("token_dimension"), py::arg("query_dimension"), py::arg("output_dimension") = 1)
      .def_property_readonly("token_dimension", &PromptTask::token_dimension, "Of the tokens.")
      .def_property_readonly("query_dimension", &PromptTask::query_dimension, "Of the query.")
      .def_property_readonly("output_dimension", &PromptTask::output_dimension, "Of outputs and targets.")
      .def("__reduce__", [module](const py::object& self) {
        const auto& task = py::cast<const PromptTask&>(self);
        return reduce(
            self, module.attr("Task"),
            py::make_tuple(task.token_dimension(), task.query_dimension(), task.output_dimension()));
      });
  py::class_<MixtureClassification, PromptTask, std::shared_ptr<MixtureClassification>>(
      module, "Classification", docs::kClassification, py::is_final())
      .def(py::init([](Real<"mean_scale"> mean_scale, const py::object& covariance) {
             return std::make_shared<MixtureClassification>(
                 mean_scale.value, to_matrix({"icl.Classification", "covariance"}, covariance, std::nullopt));
           }),
           "__init__(self, mean_scale, covariance)\n--\n\n", py::arg("mean_scale"), py::arg("covariance"));
  py::class_<LawRegression, PromptTask, std::shared_ptr<LawRegression>>(module, "Regression",
                                                                        docs::kRegression, py::is_final())
      .def(py::init(&make_regression),
           "__init__(self, d=None, *, covariates='gaussian', queries=None, prior='gaussian', noise=None, "
           "noise_scale=None, outputs=1)\n--\n\n",
           py::arg("d") = py::none(), py::kw_only(), py::arg("covariates") = "gaussian",
           py::arg("queries") = py::none(), py::arg("prior") = "gaussian", py::arg("noise") = py::none(),
           py::arg("noise_scale") = py::none(), py::arg("outputs") = 1);
  for (const char* name : {"Classification", "Regression"}) remember_construction(module.attr(name));
  py::class_<Loss, std::shared_ptr<Loss>>(module, "Loss", docs::kLoss, py::dynamic_attr())
      .def("__reduce__", [](const py::object& self) { return reduce(self, py::none(), py::tuple()); });
  module.def("icl_prompt_risk", &prompt_risk);
  module.def("icl_learner_risk", &learner_risk_);
  module.def("icl_bayes_risk", &bayes_risk_);
  module.def("icl_task_threshold", &task_threshold_);
  module.def("icl_read_task", &read_task);
}

}  // namespace largo::python
