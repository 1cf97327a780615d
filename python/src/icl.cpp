// In-context regression: the problem, its risks, limits and thresholds.
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
#include "largo/icl/named_problem.hpp"
#include "largo/icl/parameter_maps.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_risks.hpp"
#include "largo/icl/regression_task_sampler.hpp"
#include "largo/icl/regression_training.hpp"
#include "largo/icl/ridge_floor.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/numerics/check.hpp"
#include "largo/numerics/factor.hpp"
#include "module.hpp"

namespace largo::python {
namespace {

using namespace py::literals;

RegressionProblem make_problem(const std::string& preset, std::optional<std::ptrdiff_t> d,
                               const py::object& covariance, const py::object& query_covariance,
                               const py::object& prior, std::optional<double> noise,
                               std::optional<double> score_scale) {
  const auto text = [](const py::object& value) {
    return py::isinstance<py::str>(value) ? py::cast<std::string>(value) : std::string();
  };
  const auto given = [](const py::object& value) {
    return !value.is_none() && !py::isinstance<py::str>(value);
  };
  // An array says the dimension, as a file does on the command line.
  for (const py::object& value : {covariance, query_covariance, prior}) {
    if (!d && given(value)) d = to_matrix({"icl.Problem", "covariance"}, value).rows();
  }
  RegressionProblem problem =
      named_problem({preset, d, text(covariance), text(query_covariance), text(prior), noise, score_scale});
  if (given(covariance)) {
    problem.covariance = to_matrix({"icl.Problem", "covariance"}, covariance);
    if (query_covariance.is_none()) problem.query_covariance = problem.covariance;
  }
  if (given(query_covariance)) {
    problem.query_covariance = to_matrix({"icl.Problem", "query_covariance"}, query_covariance);
  }
  if (given(prior)) problem.prior_covariance = to_matrix({"icl.Problem", "prior"}, prior);
  check(problem);
  return problem;
}

py::tuple to_tuple(const InvariantPoint& point) { return py::make_tuple(to_numpy(point.A), point.b); }

py::tuple estimates(const std::vector<Estimate>& values) {
  Vector value(std::ssize(values)), error(std::ssize(values));
  for (std::ptrdiff_t i = 0; i < value.size(); ++i) {
    value[i] = values[static_cast<std::size_t>(i)].value;
    error[i] = values[static_cast<std::size_t>(i)].error;
  }
  return py::make_tuple(to_numpy(std::move(value)), to_numpy(std::move(error)));
}

// one(L, execution) at every length, watched; the values and their errors.
template <typename One>
py::tuple at_lengths(const std::vector<double>& lengths, int threads, const py::object& progress,
                     const One& one) {
  std::vector<Estimate> values;
  watch(progress, threads, [&](Call& call) {
    for (const double L : lengths) {
      call.check();
      values.push_back(one(L, call.execution()));
      call.show(static_cast<double>(values.size()) / static_cast<double>(lengths.size()));
    }
  });
  return estimates(values);
}

py::tuple risk(const RegressionProblem& problem, const std::vector<double>& lengths, const py::object& U,
               const py::object& v, const std::string& attention, std::int64_t nodes, std::uint64_t seed,
               int threads, const py::object& progress) {
  const RegressionParameters parameters = parameters_of(problem, U, v);
  const AttentionKind kind = kind_of("icl.risk", attention);
  return at_lengths(lengths, threads, progress, [&](double L, const Execution& execution) {
    return regression_risk(problem, kind, L, parameters, {nodes, seed}, execution);
  });
}

py::tuple sampled_risk(const RegressionProblem& problem, const py::object& covariates,
                       const std::vector<double>& lengths, const py::object& U, const py::object& v,
                       const std::string& attention, std::int64_t draws, std::uint64_t seed, int threads,
                       const py::object& progress) {
  RegressionLaws laws;
  laws.covariates = to_law({"icl.sampled_risk", "covariates"}, covariates);
  check_size("icl.sampled_risk", "dimension of the covariates", laws.covariates->dimension(),
             problem.dimension());
  laws.prior_root = covariance_root("icl.sampled_risk", "prior", problem.prior_covariance).root;
  if (problem.noise > 0) {
    laws.noise = std::make_shared<GaussianMeasure>(Vector::Zero(1), Matrix::Constant(1, 1, problem.noise));
  }
  const auto task = std::make_shared<RegressionTaskSampler>(laws);
  const Vector parameters = largo::to_vector(parameters_of(problem, U, v));
  const AttentionKind kind = kind_of("icl.sampled_risk", attention);
  return at_lengths(lengths, threads, progress, [&](double L, const Execution& execution) -> Estimate {
    const PromptSetting setting{task, squared_loss(), L, kind, problem.score_scale, seed};
    const RiskPoint point = PromptRisk(setting, draws, execution).at(parameters);
    return {point.value, point.error};
  });
}

py::tuple floor_(const RegressionProblem& problem, const std::vector<double>& lengths, std::int64_t samples,
                 std::uint64_t seed, int threads) {
  return at_lengths(lengths, threads, py::none(), [&](double L, const Execution& execution) -> Estimate {
    const RidgeFloor one = ridge_floor(problem, L, {.samples = samples}, seed, execution);
    return {one.value, one.standard_error};
  });
}

py::tuple gradient(const RegressionProblem& problem, double L, const py::object& A, double b,
                   const std::string& attention) {
  const Eigen::Index d = problem.dimension();
  const Matrix scores = to_matrix({"icl.gradient", "A"}, A);
  check_shape("icl.gradient", "A", scores.rows(), scores.cols(), d, d);
  const AttentionKind kind = kind_of("icl.gradient", attention);
  Vector parameters(d * d + 1);
  parameters << scores.reshaped(), b;
  const RiskPoint point = unlocked([&] { return invariant_risk(problem, kind, L)->at(parameters); });
  const Matrix slope = point.gradient.head(d * d).reshaped(d, d);
  return py::make_tuple(point.value, point.error, to_numpy(slope), point.gradient[d * d]);
}

py::dict find_threshold(const RegressionProblem& problem, double epsilon, const py::object& A, double b,
                        const std::string& attention, int threads, const py::object& progress) {
  check_positive("icl.threshold", "epsilon", epsilon);
  const InvariantPoint start{to_matrix({"icl.threshold", "A"}, A), b};
  ThresholdPlan plan;
  plan.attention = kind_of("icl.threshold", attention);
  Threshold found;
  watch(progress, threads, [&](Call& call) {
    int tried = 0;
    plan.trained = [&](double, double) {
      call.check();
      call.show(std::min(0.95, ++tried / 12.0));
    };
    found = threshold(problem, epsilon, start, plan, call.execution());
  });
  py::list tried;
  for (const TrainedRisk& one : found.tried) tried.append(py::make_tuple(one.L, one.risk));
  return py::dict("L"_a = found.L, "risk"_a = found.risk, "limit"_a = found.limit, "tried"_a = tried,
                  "before"_a = py::make_tuple(found.before.L, found.before.risk));
}

}  // namespace

AttentionKind kind_of(const char* function, const std::string& kind) {
  if (kind == "softmax") return AttentionKind::softmax;
  if (kind == "linear") return AttentionKind::linear;
  fail(function, "attention", fmt::format("'{}'", kind), "softmax or linear");
}

RegressionParameters parameters_of(const RegressionProblem& problem, const py::object& U,
                                   const py::object& v) {
  const Eigen::Index size = problem.dimension() + 1;
  RegressionParameters parameters{to_matrix({"icl", "U"}, U), to_vector({"icl", "v"}, v)};
  check_shape("icl", "U", parameters.U.rows(), parameters.U.cols(), size, size);
  check_size("icl", "v", parameters.v.size(), size);
  check_finite("icl", "U", parameters.U);
  check_finite("icl", "v", parameters.v);
  return parameters;
}

void bind_icl(py::module_& module) {
  py::class_<RegressionProblem>(module, "Problem")
      .def(py::init(&make_problem), py::arg("preset"), py::arg("d"), py::arg("covariance"),
           py::arg("query_covariance"), py::arg("prior"), py::arg("noise"), py::arg("score_scale"))
      .def_property_readonly("dimension", &RegressionProblem::dimension)
      .def_property_readonly("covariance",
                             [](const RegressionProblem& self) { return to_numpy(self.covariance); })
      .def_property_readonly("query_covariance",
                             [](const RegressionProblem& self) { return to_numpy(self.query_covariance); })
      .def_property_readonly("prior",
                             [](const RegressionProblem& self) { return to_numpy(self.prior_covariance); })
      .def_readonly("noise", &RegressionProblem::noise)
      .def_readonly("score_scale", &RegressionProblem::score_scale)
      .def_property_readonly("null_risk", &RegressionProblem::null_risk);
  module.def("icl_risk", &risk);
  module.def("icl_sampled_risk", &sampled_risk);
  module.def("icl_floor", &floor_);
  module.def("icl_gradient", &gradient);
  module.def("icl_threshold", &find_threshold);
  module.def("icl_limit", [](const RegressionProblem& problem, double balance) {
    return to_tuple(infinite_limit(problem, balance));
  });
  module.def("icl_best_linear",
             [](const RegressionProblem& problem, double L) { return to_tuple(best_linear(problem, L)); });
  module.def("icl_start",
             [](const RegressionProblem& problem, std::optional<double> alpha, const py::object& theta) {
               if (py::isinstance<py::str>(theta)) {
                 return to_tuple(named_start(problem, alpha, py::cast<std::string>(theta)));
               }
               const double a = alpha.value_or(largest_admissible_alpha(problem) / 2);
               check_finite("icl.start", "alpha", a);
               return to_tuple(paper_start(problem, a, to_matrix({"icl.start", "theta"}, theta)));
             });
  module.def("icl_largest_alpha", &largest_admissible_alpha);
}

}  // namespace largo::python
