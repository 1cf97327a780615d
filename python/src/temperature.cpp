// Laws of temperature over growing prompts, and their inverse.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "arrays.hpp"
#include "calls.hpp"
#include "largo/exact/temperature.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"
#include "law_arguments.hpp"
#include "module.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using namespace py::literals;

struct Crowd {
  CrowdedPrompt prompt;
  Matrix V;
};

// The arguments that describe the prompt, by their names in Python.
Crowd crowd_of(const char* function, const py::dict& given) {
  Crowd crowd;
  const auto is_given = [&](const char* name) { return !py::object(given[name]).is_none(); };
  if (is_given("s") == is_given("law")) fail(function, "give either s, or law and query");
  if (is_given("s")) {
    for (const char* name : {"query", "U", "V"}) {
      if (is_given(name)) fail(function, fmt::format("{} goes with law, not with s", name));
    }
    crowd.prompt = normal_crowd(read_real("s", given["s"]));
    crowd.V = Matrix::Identity(1, 1);
  } else {
    if (!is_given("query")) fail(function, "query is missing: scores are <U query, token>");
    crowd.prompt.crowd = to_law({function, "law"}, given["law"]);
    const std::ptrdiff_t d = crowd.prompt.crowd->dimension();
    const Vector query = to_vector({function, "query"}, given["query"]);
    const Matrix U =
        is_given("U") ? to_matrix({function, "U"}, given["U"], d) : Matrix(Matrix::Identity(d, d));
    check_size(function, "query", query.size(), U.cols());
    crowd.prompt.direction = U * query;
    crowd.V = is_given("V") ? to_matrix({function, "V"}, given["V"], std::nullopt, d)
                            : Matrix(Matrix::Identity(d, d));
  }
  if (is_given("needle")) crowd.prompt.needle = TokenClass{1, read_real("needle", given["needle"]), 0};
  const Vector sinks = to_vector({function, "sinks"}, given["sinks"]);
  for (const double score : sinks) crowd.prompt.planted.push_back({1, score, 0});
  for (const py::handle row : py::list(given["classes"])) {
    const Vector one = to_vector({function, "classes"}, row);
    if (one.size() != 3) fail(function, "each of classes must be (count, shift, spread)");
    crowd.prompt.planted.push_back({one[0], one[1], one[2]});
  }
  return crowd;
}

// The numbers of all rows, by name: values and errors.
py::dict to_dict(const std::vector<TemperatureRow>& rows, const CrowdedPrompt& prompt) {
  const auto column = [&](const auto& number) {
    Vector values(std::ssize(rows));
    for (std::ptrdiff_t i = 0; i < values.size(); ++i) values[i] = number(rows[static_cast<std::size_t>(i)]);
    return to_numpy(std::move(values));
  };
  py::dict values, errors;
  const auto add = [&](const char* name, const auto& estimate) {
    values[name] = column([&](const TemperatureRow& row) { return estimate(row).value; });
    errors[name] = column([&](const TemperatureRow& row) { return estimate(row).error; });
  };
  const auto weight = [&](const char* name, Estimate CrowdWeights::*which) {
    add(name, [which](const TemperatureRow& row) { return row.at.weights.*which; });
  };
  values["beta"] = column([](const TemperatureRow& row) { return row.at.beta; });
  weight("effective_tokens", &CrowdWeights::effective_tokens);
  weight("entropy", &CrowdWeights::entropy);
  if (prompt.needle) weight("needle_weight", &CrowdWeights::needle);
  weight("crowd_weight", &CrowdWeights::crowd);
  weight("log_partition", &CrowdWeights::log_partition);
  if (!rows.empty() && rows.front().output_error)
    add("output_error", [](const TemperatureRow& row) { return *row.output_error; });
  const auto planted = [&](double Estimate::*part) {
    RowMatrix all(std::ssize(rows), std::ssize(prompt.planted));
    for (std::ptrdiff_t i = 0; i < all.rows(); ++i) {
      for (std::ptrdiff_t c = 0; c < all.cols(); ++c)
        all(i, c) = rows[static_cast<std::size_t>(i)].at.weights.planted[static_cast<std::size_t>(c)].*part;
    }
    return to_numpy(std::move(all));
  };
  values["planted_weights"] = planted(&Estimate::value);
  errors["planted_weights"] = planted(&Estimate::error);
  return py::dict("values"_a = values, "errors"_a = errors);
}

std::vector<double> to_numbers(const Argument& argument, py::handle value) {
  const Vector numbers = to_vector(argument, value);
  return {numbers.begin(), numbers.end()};
}

// A law is a text, or a name with the β at each length.
TemperatureLaw law_of(const py::handle& given, const std::vector<double>& lengths) {
  if (py::isinstance<py::str>(given)) return {"beta", py::cast<std::string>(given)};
  const auto pair = py::cast<py::tuple>(given);
  const std::vector<double> betas = to_numbers({"temperature", "beta"}, pair[1]);
  std::map<double, double> at;
  for (std::size_t i = 0; i < lengths.size(); ++i) at[lengths[i]] = betas[i];
  return {py::cast<std::string>(pair[0]), [at = std::move(at)](double L) { return at.at(L); }};
}

py::tuple temperature(const py::dict& given, const py::object& L, const py::object& laws, Threads threads) {
  const Crowd crowd = crowd_of("temperature", given);
  const std::vector<double> lengths = to_numbers({"temperature", "L"}, L);
  std::vector<TemperatureLaw> all;
  if (laws.is_none())
    all = default_temperature_laws();
  else
    for (const py::handle one : py::list(laws)) all.push_back(law_of(one, lengths));
  std::vector<TemperatureRow> rows;
  watch(py::none(), threads.value,
        [&](Call& call) { rows = temperature_rows(crowd.prompt, crowd.V, lengths, all, call.execution()); });
  py::list names;
  for (const TemperatureLaw& law : all) names.append(law.name());
  return py::make_tuple(names, to_dict(rows, crowd.prompt));
}

py::tuple inverse_temperature(const py::dict& given, const py::object& L, const std::string& statistic,
                              const py::object& target, Threads threads) {
  constexpr auto kName = "inverse_temperature";
  const Crowd crowd = crowd_of(kName, given);
  const std::vector<double> lengths = to_numbers({kName, "L"}, L);
  const WeightStatistic which = weight_statistic("statistic", statistic);
  std::vector<double> targets;
  if (py::isinstance<py::str>(target)) {
    const TemperatureLaw formula("target", py::cast<std::string>(target));  // any function of L
    for (const double length : lengths) targets.push_back(formula(length));
  } else {
    targets = to_numbers({kName, "target"}, target);
  }
  std::vector<TemperatureRow> rows;
  watch(py::none(), threads.value, [&](Call& call) {
    rows = target_rows(crowd.prompt, crowd.V, lengths, which, targets, call.execution());
  });
  py::object growth = py::none();
  if (rows.size() > 1) {
    if (const auto found = temperature_growth(rows[rows.size() - 2], rows.back())) {
      growth = py::dict("from"_a = found->from, "to"_a = found->to, "power"_a = found->power,
                        "power_of_log"_a = found->power_of_log);
    }
  }
  return py::make_tuple(to_dict(rows, crowd.prompt), growth);
}

}  // namespace

void bind_temperature(py::module_& module) {
  module.def("temperature", &temperature);
  module.def("inverse_temperature", &inverse_temperature);
}

}  // namespace largo::python
