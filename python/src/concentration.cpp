// Errors of a layer against the length of its prompts. Results are dicts with the keys of the command line's
// JSON.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "largo/concentration/concentration_grid.hpp"
#include "largo/concentration/error_path.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/concentration/factored_gradients.hpp"
#include "largo/concentration/linear_attention.hpp"
#include "largo/runtime/check.hpp"
#include "law_arguments.hpp"
#include "module.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using namespace py::literals;
constexpr const char *kName = "concentration", *kPathName = "errors_along_path";

const char* name_of(ErrorMethod method) { return method == ErrorMethod::exact ? "exact" : "sampled"; }

py::dict to_dict(const ErrorBar& bar, ErrorMethod method) {
  py::dict dict("value"_a = bar.value, "error"_a = bar.error);
  if (method == ErrorMethod::sampled) dict["interval"] = py::make_tuple(bar.low, bar.high);
  return dict;
}

py::dict to_dict(const Estimate& estimate) {
  return py::dict("value"_a = estimate.value, "error"_a = estimate.error);
}

template <typename Three>
py::dict slopes(const Three& three) {
  py::dict dict;
  if (three.output) dict["output"] = to_dict(*three.output);
  if (three.gradient_V) dict["gradient_V"] = to_dict(*three.gradient_V);
  if (three.gradient_U) dict["gradient_U"] = to_dict(*three.gradient_U);
  return dict;
}

py::dict to_dict(const ConcentrationRow& row) {
  py::dict dict("sigma"_a = row.sigma, "L"_a = row.L, "method"_a = name_of(row.method));
  dict["output"] = to_dict(row.output, row.method);
  dict["gradient_V"] = to_dict(row.gradient_V, row.method);
  if (row.gradient_U) dict["gradient_U"] = to_dict(*row.gradient_U, row.method);
  if (row.gradient_K) dict["gradient_K"] = to_dict(*row.gradient_K, row.method);
  if (row.gradient_Q) dict["gradient_Q"] = to_dict(*row.gradient_Q, row.method);
  if (row.method == ErrorMethod::exact) dict["exponent"] = slopes(row.exponents);
  if (row.certified) {
    dict["certified"] =
        py::dict("output"_a = row.certified->output, "gradient_V"_a = row.certified->gradient_V,
                 "gradient_U"_a = row.certified->gradient_U);
    if (row.certified->gradient_K) dict["certified"]["gradient_K"] = *row.certified->gradient_K;
    if (row.certified->gradient_Q) dict["certified"]["gradient_Q"] = *row.certified->gradient_Q;
  }
  if (row.softmax_linear) dict["softmax_linear"] = to_dict(*row.softmax_linear, row.method);
  if (row.linear) dict["linear"] = py::dict("value"_a = *row.linear);
  if (row.method == ErrorMethod::sampled) dict["prompts"] = row.prompts;
  if (!row.warnings.empty()) dict["warnings"] = row.warnings;
  return dict;
}

py::dict to_dict(const BoundReport& bound, double sub_gaussian) {
  py::dict dict("c1"_a = bound.constants.c1, "c2"_a = bound.constants.c2, "fitted"_a = bound.fitted,
                "points"_a = bound.verdict.points, "worst_ratio"_a = bound.verdict.worst_ratio);
  if (!bound.fitted) dict["holds"] = bound.verdict.holds;
  if (bound.verdict.worst_ratio > 0) {
    dict["worst"] =
        py::dict("sigma"_a = bound.verdict.worst.sigma / sub_gaussian, "L"_a = bound.verdict.worst.L);
  }
  return dict;
}

py::dict to_dict(const ConcentrationSummary& summary, bool show_fit) {
  py::dict fit("sub_gaussian"_a = summary.sub_gaussian,
               "sub_gaussian_kind"_a = name_of(summary.sub_gaussian_kind),
               "method"_a = name_of(summary.method));
  if (summary.output && show_fit) fit["output"] = to_dict(*summary.output, summary.sub_gaussian);
  if (summary.gradient_V && show_fit) fit["gradient_V"] = to_dict(*summary.gradient_V, summary.sub_gaussian);
  if (summary.gradient_U && show_fit) fit["gradient_U"] = to_dict(*summary.gradient_U, summary.sub_gaussian);
  py::list curves;
  for (const SigmaSummary& curve : summary.sigmas) {
    py::dict one("sigma"_a = curve.sigma, "method"_a = name_of(curve.method));
    one.attr("update")(slopes(curve));
    if (curve.asymptotic) {
      one["asymptotic_exponent"] = curve.asymptotic->value;
      if (curve.asymptotic->spread) one["score_spread"] = *curve.asymptotic->spread;
    }
    curves.append(one);
  }
  fit["slopes"] = curves;
  return fit;
}

// Rows of `planted`, and one token without a value for each score of `sinks`.
std::vector<PlantedToken> planted_of(const py::object& planted, const std::vector<double>& sinks,
                                     std::ptrdiff_t d) {
  std::vector<PlantedToken> tokens;
  if (!planted.is_none()) {
    const RowMatrix rows = to_rows({kName, "planted"}, planted).view();
    check_size(kName, "planted token", rows.cols(), d);
    for (Eigen::Index i = 0; i < rows.rows(); ++i) tokens.push_back({rows.row(i).transpose()});
  }
  for (const double score : sinks) tokens.push_back({Vector::Zero(d), score});
  return tokens;
}

AttentionLayer layer_of(const py::object& law, const py::object& U, const py::object& V,
                        const py::object& queries) {
  AttentionLayer layer;
  layer.tokens = to_law({kName, "law"}, law);
  layer.U = to_matrix({kName, "U"}, U, layer.tokens->dimension());
  layer.V = to_matrix({kName, "V"}, V, std::nullopt, layer.tokens->dimension());
  layer.queries = to_queries({kName, "queries"}, queries);
  return layer;
}

void choose_methods(const std::string& method, const AttentionLayer& layer, ConcentrationPlan& plan) {
  std::optional<std::string> missing;
  for (const double sigma : plan.sigmas) {
    if (!missing) missing = missing_formula(layer, sigma);
  }
  if (method == "auto") {
    plan.exact = !missing;
    plan.sampled = missing.has_value();
    return;
  }
  if (method != "exact" && method != "sampled" && method != "both") {
    fail(kName, "method", fmt::format("'{}'", method), "auto, exact, sampled or both");
  }
  plan.exact = method != "sampled";
  plan.sampled = method != "exact";
  if (plan.exact && missing) fail(kName, fmt::format("{}; use method=\"sampled\"", *missing));
}

// The arguments of sampling.
struct SamplingArguments {
  Whole<"prompts"> prompts;
  Real<"relative_error"> relative_error;
  Text<"precision"> precision;
  Seed seed;

  void read(ConcentrationPlan& plan) const {
    plan.seed = seed.value;
    plan.sampling.samples = prompts.value;
    plan.sampling.relative_error = relative_error.value;
    if (precision.value != "float32" && precision.value != "float64") {
      fail(kName, "precision", fmt::format("'{}'", precision.value), "float32 or float64");
    }
    if (precision.value == "float64") plan.precision = TokenPrecision::float64;
  }
};

// K and Q, if they are given.
std::optional<FactoredWeights> factors_of(const py::object& K, const py::object& Q, const py::object& V,
                                          std::ptrdiff_t d) {
  if (K.is_none()) return std::nullopt;
  Matrix keys = to_matrix({kName, "K"}, K, std::nullopt, d);
  Matrix queries = to_matrix({kName, "Q"}, Q, keys.rows());
  return FactoredWeights(std::move(keys), std::move(queries), to_matrix({kName, "V"}, V, std::nullopt, d));
}

py::dict concentration(const py::object& law, const py::object& U, const py::object& K, const py::object& Q,
                       const py::object& V, const py::object& queries, const py::object& planted,
                       const std::vector<double>& sinks, const std::vector<double>& lengths,
                       const std::vector<double>& sigmas, const Text<"method">& method,
                       Whole<"prompts"> prompts, Real<"relative_error"> relative_error,
                       const Text<"precision">& precision, Seed seed, bool exponents, bool fit,
                       std::optional<std::pair<double, double>> constants, Threads threads,
                       const py::object& progress) {
  const std::optional<FactoredWeights> factors =
      factors_of(K, Q, V, to_law({kName, "law"}, law)->dimension());
  AttentionLayer layer = layer_of(law, U, V, queries);
  if (factors) layer.U = factors->merged().U;
  layer.planted = planted_of(planted, sinks, layer.tokens->dimension());
  if (factors && !layer.planted.empty()) {
    fail(kName, "the gradients in K and Q are not known beside planted tokens: give U in place of K and Q");
  }
  if ((fit || constants) && !layer.planted.empty()) {
    fail(kName,
         "the paper's bounds are for prompts of independent tokens: leave out fit and bound, or planted and "
         "sinks");
  }
  ConcentrationPlan plan;
  plan.sigmas = sigmas;
  unlocked([&] { choose_methods(method.value, layer, plan); });
  plan.lengths = lengths;
  plan.exponents = exponents;
  SamplingArguments{prompts, relative_error, precision, seed}.read(plan);
  std::optional<BoundConstants> given;
  if (constants) {
    check_positive(kName, "c1", constants->first);
    check_nonnegative(kName, "c2", constants->second);
    given = BoundConstants{constants->first, constants->second};
  }
  std::vector<ConcentrationRow> rows;
  ConcentrationSummary summary;
  watch(progress, threads.value, [&](Call& call) {
    plan.progress = [&](double share) { call.show(share); };
    rows = concentration_grid(layer, plan, call.execution());
    if (factors && plan.exact)
      add_factored_gradients(rows, {layer.tokens, *factors, layer.queries}, call.execution());
    if (factors && rows.front().certified)
      add_factored_bounds(rows, {layer.tokens, *factors, layer.queries}, call.execution());
    summary = summarise(layer, rows, given);
  });
  py::list table;
  for (const ConcentrationRow& row : rows) table.append(to_dict(row));
  return py::dict("rows"_a = table, "fit"_a = to_dict(summary, fit || given));
}

// The supremum of an error along a path, and where it is.
py::tuple to_tuple(const Supremum& supremum) {
  return py::make_tuple(supremum.error.value, supremum.error.error, supremum.at);
}

std::vector<PathPoint> path_of(const py::sequence& path, std::ptrdiff_t d) {
  std::vector<PathPoint> points;
  const auto count = static_cast<py::ssize_t>(py::len(path));
  for (py::ssize_t i = 0; i < count; ++i) {
    const py::object pair = path[py::int_(i)];
    if (!py::isinstance<py::sequence>(pair) || py::len(pair) != 2) {
      refuse_type({kPathName, "path"}, "must be pairs (U, V)");
    }
    points.push_back({to_matrix({kPathName, "U"}, pair[py::int_(0)], d),
                      to_matrix({kPathName, "V"}, pair[py::int_(1)], std::nullopt, d)});
  }
  return points;
}

py::dict along_path(const py::object& law, const py::sequence& path, const py::object& queries, Real<"L"> L,
                    const Text<"method">& method, Whole<"prompts"> prompts,
                    Real<"relative_error"> relative_error, const Text<"precision">& precision, Seed seed,
                    Threads threads) {
  const MeasurePtr tokens = to_law({kPathName, "law"}, law);
  const std::vector<PathPoint> points = path_of(path, tokens->dimension());
  const Queries asked = to_queries({kName, "queries"}, queries);
  ConcentrationPlan plan;
  if (points.empty()) fail(kPathName, "path", "empty", "at least one pair (U, V)");
  unlocked([&] {
    choose_methods(method.value, AttentionLayer{tokens, points[0].U, points[0].V, asked}, plan);
  });
  if (plan.exact && plan.sampled) fail(kPathName, "method", "'both'", "auto, exact or sampled");
  SamplingArguments{prompts, relative_error, precision, seed}.read(plan);
  PathErrors errors;
  watch(py::none(), threads.value, [&](const Call& call) {
    errors =
        errors_along_path(tokens, asked, points, L.value,
                          plan.exact ? ErrorMethod::exact : ErrorMethod::sampled, plan, call.execution());
  });
  py::list table;
  for (const ConcentrationRow& row : errors.rows) table.append(to_dict(row));
  return py::dict("rows"_a = table, "output"_a = to_tuple(errors.output),
                  "gradient_V"_a = to_tuple(errors.gradient_V),
                  "gradient_U"_a = errors.gradient_U ? py::object(to_tuple(*errors.gradient_U)) : py::none());
}

py::list tolerated(const py::object& law, const py::object& U, const py::object& V, const py::object& queries,
                   Real<"tolerance"> tolerance, const std::vector<double>& scales, Threads threads) {
  const AttentionLayer layer = layer_of(law, U, V, queries);
  std::vector<std::optional<ToleratedLength>> lengths;
  watch(py::none(), threads.value, [&](const Call& call) {
    check_tolerance(layer, tolerance.value);
    lengths = lengths_for_tolerance(layer, tolerance.value, scales, call.execution());
  });
  py::list all;
  for (const auto& one : lengths) {
    if (one) {
      all.append(py::make_tuple(one->L, one->value));
    } else {
      all.append(py::none());
    }
  }
  return all;
}

}  // namespace

void bind_concentration(py::module_& module) {
  module.def("concentration", &concentration);
  module.def("tolerated_lengths", &tolerated);
  module.def("errors_along_path", &along_path);
}

}  // namespace largo::python
