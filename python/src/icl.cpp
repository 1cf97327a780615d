// In-context regression: the problem, its risks, limits and thresholds.
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
#include "largo/icl/invariant_risk.hpp"
#include "largo/icl/law_regression.hpp"
#include "largo/icl/named_problem.hpp"
#include "largo/icl/prompt_risk.hpp"
#include "largo/icl/regression_flow.hpp"
#include "largo/icl/regression_maps.hpp"
#include "largo/icl/regression_risk.hpp"
#include "largo/icl/ridge_floor.hpp"
#include "largo/icl/threshold.hpp"
#include "largo/runtime/check.hpp"
#include "module.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using namespace py::literals;

RegressionProblem make_problem(const Text<"preset">& preset, const py::object& dimension,
                               const py::object& covariance, const py::object& query_covariance,
                               const py::object& prior, const py::object& noise,
                               const py::object& score_scale, const std::vector<double>& sinks) {
  const auto number = [](const char* name, const py::object& value) {
    return value.is_none() ? std::optional<double>() : read_real(name, value);
  };
  std::optional<std::ptrdiff_t> d = read_optional("d", dimension);
  const auto text = [](const py::object& value) {
    return py::isinstance<py::str>(value) ? py::cast<std::string>(value) : std::string();
  };
  const auto given = [](const py::object& value) {
    return !value.is_none() && !py::isinstance<py::str>(value);
  };
  // An array gives the dimension, as a file does on the command line.
  for (const py::object& value : {covariance, query_covariance, prior}) {
    if (!d && given(value)) d = to_matrix({"icl.Problem", "covariance"}, value).rows();
  }
  RegressionProblem problem =
      named_problem({preset.value, d, text(covariance), text(query_covariance), text(prior),
                     number("noise", noise), number("score_scale", score_scale), sinks});
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

// Calls one(L, execution) at every length, watched; returns the values and their errors.
template <typename Length, typename One>
py::tuple at_lengths(const std::vector<Length>& lengths, Threads threads, const py::object& progress,
                     const One& one) {
  std::vector<Estimate> values;
  watch(progress, threads.value, [&](Call& call) {
    for (const Length& L : lengths) {
      call.check();
      values.push_back(one(L, call.execution()));
      call.show(static_cast<double>(values.size()) / static_cast<double>(lengths.size()));
    }
  });
  return estimates(values);
}

py::tuple risk(const RegressionProblem& problem, const py::sequence& lengths, const py::object& point,
               const py::object& U, const py::object& v, const Text<"attention">& attention,
               Whole<"nodes"> nodes, Seed seed, Threads threads, const py::object& progress) {
  const RegressionParameters parameters = parameters_of(problem.dimension(), point, U, v);
  const AttentionKind kind = kind_of("icl.risk", attention.value);
  return at_lengths(
      lengths_of(lengths), threads, progress, [&](const LengthLaw& L, const Execution& execution) {
        return regression_risk(problem, kind, L, parameters, {nodes.value, seed.value}, execution);
      });
}

py::tuple sampled_risk(const RegressionProblem& problem, const py::object& covariates,
                       const std::vector<double>& lengths, const py::object& point, const py::object& U,
                       const py::object& v, const Text<"attention">& attention, Whole<"prompts"> prompts,
                       Seed seed, Threads threads, const py::object& progress) {
  const PromptTaskPtr task = with_covariates(problem, to_law({"icl.sampled_risk", "covariates"}, covariates));
  const Vector parameters = largo::to_vector(parameters_of(problem.dimension(), point, U, v));
  const AttentionKind kind = kind_of("icl.sampled_risk", attention.value);
  return at_lengths(lengths, threads, progress, [&](double L, const Execution& execution) -> Estimate {
    const PromptSetting setting{task, squared_loss(), L, kind, problem.score_scale, seed.value};
    const RiskPoint one = PromptRisk(setting, prompts.value, execution).at(parameters);
    return {one.value, one.error};
  });
}

py::tuple floor_(const RegressionProblem& problem, const std::vector<double>& lengths,
                 Whole<"prompts"> prompts, Seed seed, Threads threads) {
  return at_lengths(lengths, threads, py::none(), [&](double L, const Execution& execution) -> Estimate {
    const RidgeFloor one = ridge_floor(problem, L, {.samples = prompts.value}, seed.value, execution);
    return {one.value, one.standard_error};
  });
}

py::tuple gradient(const RegressionProblem& problem, const py::sequence& given, const py::object& point,
                   const Text<"attention">& attention) {
  const Eigen::Index d = problem.dimension();
  const InvariantPoint at = point_of(d, point);
  const AttentionKind kind = kind_of("icl.gradient", attention.value);
  Vector parameters(d * d + 1);
  parameters << at.A.reshaped(), at.b;
  const std::vector<LengthLaw> lengths = lengths_of(given);
  const auto n = std::ssize(lengths);
  Vector values(n), errors(n), slopes(n);
  RowMatrix slopes_A(n * d, d);
  watch(py::none(), 1, [&](const Call& call) {
    for (Eigen::Index i = 0; i < n; ++i) {
      call.check();
      const RiskPoint one =
          invariant_risk(problem, kind, lengths[static_cast<std::size_t>(i)])->at(parameters);
      values[i] = one.value;
      errors[i] = one.error;
      slopes_A.middleRows(i * d, d) = one.gradient.head(d * d).reshaped(d, d);
      slopes[i] = one.gradient[d * d];
    }
  });
  return py::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(errors)),
                        to_numpy(std::move(slopes_A)).attr("reshape")(n, d, d), to_numpy(std::move(slopes)));
}

py::dict find_threshold(const RegressionProblem& problem, Real<"epsilon"> epsilon, const py::object& point,
                        const Text<"attention">& attention, Threads threads, const py::object& progress) {
  check_positive("icl.threshold", "epsilon", epsilon.value);
  const InvariantPoint start = point_of(problem.dimension(), point);
  const Threshold found = watched_threshold(
      problem, epsilon.value, start, kind_of("icl.threshold", attention.value), threads.value, progress);
  py::list tried;
  for (const TrainedRisk& one : found.tried) tried.append(py::make_tuple(one.L, one.risk));
  return py::dict("L"_a = found.L, "risk"_a = found.risk, "limit"_a = found.limit, "tried"_a = tried,
                  "before"_a = py::make_tuple(found.before.L, found.before.risk));
}

}  // namespace

std::vector<LengthLaw> lengths_of(const py::sequence& lengths) {
  std::vector<LengthLaw> laws;
  for (const py::handle one : lengths) {
    if (py::isinstance<py::str>(one)) {
      laws.push_back(named_length_law(py::cast<std::string>(one)));
    } else {
      laws.emplace_back(py::cast<double>(one));
    }
  }
  return laws;
}

Threshold watched_threshold(const RegressionProblem& problem, double epsilon, const InvariantPoint& start,
                            AttentionKind attention, int threads, const py::object& progress) {
  ThresholdPlan plan;
  plan.attention = attention;
  Threshold found;
  watch(progress, threads, [&](Call& call) {
    int tried = 0;
    plan.trained = [&](double, double) {
      call.check();
      call.show(std::min(0.95, ++tried / 12.0));
    };
    found = threshold(problem, epsilon, start, plan, call.execution());
  });
  return found;
}

InvariantPoint point_of(Eigen::Index d, const py::object& point) {
  if (!py::isinstance<py::sequence>(point) || py::len(point) != 2) {
    refuse_type({"icl", "point"}, "must be a pair (A, b)");
  }
  const py::object A = point[py::int_(0)], b = point[py::int_(1)];
  InvariantPoint at{to_matrix({"icl", "A"}, A, d, d), read_real("b", b)};
  check_shape("icl", "A", at.A.rows(), at.A.cols(), d, d);
  check_finite("icl", "A", at.A);
  check_finite("icl", "b", at.b);
  return at;
}

InvariantPoint start_of(const RegressionProblem& problem, const py::object& given, const py::object& theta) {
  std::optional<double> alpha;
  if (!given.is_none()) alpha = read_real("alpha", given);
  if (py::isinstance<py::str>(theta)) return named_start(problem, alpha, py::cast<std::string>(theta));
  const double a = alpha.value_or(largest_admissible_alpha(problem) / 2);
  check_finite("icl.start", "alpha", a);
  return paper_start(problem, a, to_matrix({"icl.start", "theta"}, theta));
}

RegressionParameters parameters_of(Eigen::Index d, const py::object& point, const py::object& U,
                                   const py::object& v) {
  if (U.is_none() != v.is_none()) fail("icl", "U and v go together");
  if (point.is_none() == U.is_none()) fail("icl", "give either point, or U and v");
  RegressionParameters parameters{Matrix::Zero(d + 1, d + 1), Vector::Zero(d + 1)};
  if (!point.is_none()) {
    const InvariantPoint at = point_of(d, point);
    parameters.U.topLeftCorner(d, d) = at.A;
    parameters.v[d] = at.b;
    return parameters;
  }
  return head_of("icl", {d + 1, d + 1, 1}, U, v);
}

RegressionParameters head_of(const char* function, const HeadSizes& sizes, const py::object& U,
                             const py::object& v) {
  const auto [d, e, m] = sizes;
  RegressionParameters head{to_matrix({function, "U"}, U, d, e), Vector()};
  if (m == 1) {
    head.v = to_vector({function, "v"}, v);
    check_size(function, "v", head.v.size(), d);
  } else {
    const Matrix rows = to_matrix({function, "v"}, v);
    check_shape(function, "v", rows.rows(), rows.cols(), m, d);
    head.v = rows.reshaped<Eigen::RowMajor>();
  }
  check_shape(function, "U", head.U.rows(), head.U.cols(), d, e);
  check_finite(function, "U", head.U);
  check_finite(function, "v", head.v);
  return head;
}

void bind_icl(py::module_& module) {
  py::class_<RegressionProblem>(module, "Problem")
      .def(py::init(&make_problem), py::arg("preset"), py::arg("d"), py::arg("covariance"),
           py::arg("query_covariance"), py::arg("prior"), py::arg("noise"), py::arg("score_scale"),
           py::arg("sinks"))
      .def_property_readonly("dimension", &RegressionProblem::dimension)
      .def_property_readonly("covariance",
                             [](const RegressionProblem& self) { return to_numpy(self.covariance); })
      .def_property_readonly("query_covariance",
                             [](const RegressionProblem& self) { return to_numpy(self.query_covariance); })
      .def_property_readonly("prior",
                             [](const RegressionProblem& self) { return to_numpy(self.prior_covariance); })
      .def_readonly("noise", &RegressionProblem::noise_variance)
      .def_readonly("score_scale", &RegressionProblem::score_scale)
      .def_readonly("sink", &RegressionProblem::sink)
      .def_property_readonly("null_risk", &RegressionProblem::null_risk)
      .def(py::pickle(
          [](const RegressionProblem& self) {
            return py::make_tuple(to_numpy(self.covariance), to_numpy(self.query_covariance),
                                  to_numpy(self.prior_covariance), self.noise_variance, self.score_scale,
                                  self.sink);
          },
          [](const py::tuple& state) {
            const auto matrix = [&](std::size_t i) { return to_matrix({"icl.Problem", "state"}, state[i]); };
            RegressionProblem problem{matrix(0), matrix(1), matrix(2), py::cast<double>(state[3]),
                                      py::cast<double>(state[4])};
            if (state.size() > 5) problem.sink = py::cast<double>(state[5]);  // older pickles have none
            check(problem);
            return problem;
          }));
  module.def("icl_risk", &risk);
  module.def("icl_sampled_risk", &sampled_risk);
  module.def("icl_floor", &floor_);
  module.def("icl_gradient", &gradient);
  module.def("icl_threshold", &find_threshold);
  module.def("icl_limit", [](const RegressionProblem& problem, Real<"balance"> balance) {
    return to_tuple(infinite_limit(problem, balance.value));
  });
  module.def("icl_best_linear", [](const RegressionProblem& problem, Real<"L"> L) {
    return to_tuple(best_linear(problem, L.value));
  });
  module.def("icl_start", [](const RegressionProblem& problem, const py::object& alpha,
                             const py::object& theta) { return to_tuple(start_of(problem, alpha, theta)); });
  module.def("icl_largest_alpha", &largest_admissible_alpha);
}

}  // namespace largo::python
