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
#include "largo/concentration/concentration_summary.hpp"
#include "largo/concentration/exact_errors.hpp"
#include "largo/concentration/linear_attention.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/numerics/check.hpp"
#include "module.hpp"

namespace largo::python {
namespace {

using namespace py::literals;
constexpr const char* kName = "concentration";

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
  py::dict dict("sigma"_a = row.scale, "L"_a = row.L, "method"_a = name_of(row.method));
  dict["output"] = to_dict(row.output, row.method);
  dict["gradient_V"] = to_dict(row.gradient_V, row.method);
  if (row.gradient_U) dict["gradient_U"] = to_dict(*row.gradient_U, row.method);
  if (row.method == ErrorMethod::exact) dict["exponent"] = slopes(row.exponents);
  if (row.softmax_linear) dict["softmax_linear"] = to_dict(*row.softmax_linear, row.method);
  if (row.linear) dict["linear"] = py::dict("value"_a = *row.linear);
  if (row.method == ErrorMethod::sampled) dict["prompts"] = row.prompts;
  if (!row.warnings.empty()) dict["warnings"] = row.warnings;
  return dict;
}

py::dict to_dict(const BoundReport& bound, double sub_gaussian) {
  py::dict dict("c1"_a = bound.constants.c1, "c2"_a = bound.constants.c2, "fitted"_a = bound.fitted,
                "holds"_a = bound.verdict.holds, "points"_a = bound.verdict.points,
                "worst_ratio"_a = bound.verdict.worst_ratio);
  if (bound.verdict.worst_ratio > 0) {
    dict["worst"] =
        py::dict("sigma"_a = bound.verdict.worst.sigma / sub_gaussian, "L"_a = bound.verdict.worst.L);
  }
  return dict;
}

py::dict to_dict(const ConcentrationSummary& summary) {
  py::dict fit("sub_gaussian"_a = summary.sub_gaussian, "method"_a = name_of(summary.method));
  if (summary.output) fit["output"] = to_dict(*summary.output, summary.sub_gaussian);
  if (summary.gradient_V) fit["gradient_V"] = to_dict(*summary.gradient_V, summary.sub_gaussian);
  if (summary.gradient_U) fit["gradient_U"] = to_dict(*summary.gradient_U, summary.sub_gaussian);
  py::list scales;
  for (const ScaleSummary& scale : summary.scales) {
    py::dict one("sigma"_a = scale.scale, "method"_a = name_of(scale.method));
    one.attr("update")(slopes(scale));
    if (scale.asymptotic) {
      one["asymptotic_exponent"] = scale.asymptotic->value;
      if (scale.asymptotic->spread) one["score_spread"] = *scale.asymptotic->spread;
    }
    scales.append(one);
  }
  fit["slopes"] = scales;
  return fit;
}

AttentionLayer layer_of(const py::object& law, const py::object& U, const py::object& V,
                        const py::object& queries) {
  AttentionLayer layer;
  layer.tokens = to_law({kName, "law"}, law);
  layer.U = to_matrix({kName, "U"}, U);
  layer.V = to_matrix({kName, "V"}, V);
  if (py::isinstance<Measure>(queries)) {
    layer.queries = to_law({kName, "queries"}, queries);
    return layer;
  }
  const Rows rows = to_rows({kName, "queries"}, queries);
  if (rows.count() == 1) {
    layer.queries = Vector(rows.view().row(0).transpose());
  } else {
    layer.queries = std::make_shared<const EmpiricalMeasure>(RowMatrix(rows.view()));
  }
  return layer;
}

void choose_methods(const std::string& method, const AttentionLayer& layer, ConcentrationPlan& plan) {
  const auto missing = missing_formula(layer);
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

py::dict concentration(const py::object& law, const py::object& U, const py::object& V,
                       const py::object& queries, const std::vector<double>& lengths,
                       const std::vector<double>& scales, const std::string& method, std::int64_t prompts,
                       double relative_error, const std::string& precision, std::uint64_t seed,
                       bool exponents, std::optional<std::pair<double, double>> constants, int threads,
                       const py::object& progress) {
  const AttentionLayer layer = layer_of(law, U, V, queries);
  ConcentrationPlan plan;
  unlocked([&] { choose_methods(method, layer, plan); });
  plan.scales = scales;
  plan.lengths = lengths;
  plan.seed = seed;
  plan.exponents = exponents;
  plan.sampling.samples = prompts;
  plan.sampling.relative_error = relative_error;
  if (precision != "float32" && precision != "float64") {
    fail(kName, "precision", fmt::format("'{}'", precision), "float32 or float64");
  }
  if (precision == "float64") plan.precision = TokenPrecision::float64;
  std::optional<BoundConstants> given;
  if (constants) {
    check_positive(kName, "c1", constants->first);
    check_nonnegative(kName, "c2", constants->second);
    given = BoundConstants{constants->first, constants->second};
  }
  std::vector<ConcentrationRow> rows;
  ConcentrationSummary summary;
  watch(progress, threads, [&](Call& call) {
    plan.progress = [&](double share) { call.show(share); };
    rows = concentration_grid(layer, plan, call.execution());
    summary = summarise(layer, rows, given);
  });
  py::list table;
  for (const ConcentrationRow& row : rows) table.append(to_dict(row));
  return py::dict("rows"_a = table, "fit"_a = to_dict(summary));
}

py::list tolerated(const py::object& law, const py::object& U, const py::object& V, const py::object& queries,
                   double tolerance, const std::vector<double>& scales, int threads) {
  const AttentionLayer layer = layer_of(law, U, V, queries);
  std::vector<std::optional<ToleratedLength>> lengths;
  watch(py::none(), threads, [&](const Call& call) {
    check_tolerance(layer, tolerance);
    lengths = lengths_for_tolerance(layer, tolerance, scales, call.execution());
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
}

}  // namespace largo::python
