// Studies: run, resume, and read.
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <pybind11/stl.h>

#include "calls.hpp"
#include "largo/studies/run_study.hpp"
#include "largo/studies/study.hpp"
#include "largo/studies/study_table.hpp"
#include "module.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

using namespace py::literals;

py::dict run(const std::string& file, const std::string& store, const std::map<std::string, std::string>& set,
             bool retry, Threads threads, const py::object& progress) {
  std::vector<StudyChange> changes;
  for (const auto& [key, value] : set) changes.push_back({key, value});
  StudyRun result;
  std::string content;
  watch(progress, threads.value, [&](Call& call) {
    StudyRunPlan plan{.retry = retry};
    plan.progress = [&](std::int64_t finished, std::int64_t units) {
      call.show(static_cast<double>(finished) / static_cast<double>(units));
    };
    result = run_study(read_study(file, changes), store, plan, call.execution());
    content = study_status(store).content;
  });
  return py::dict("store"_a = store, "units"_a = result.units,
                  "done"_a = result.before + result.ran - result.failed, "failed"_a = result.failed,
                  "ran"_a = result.ran, "seconds"_a = result.seconds, "content"_a = content);
}

py::dict status(const std::string& store) {
  const StudyStatus now = unlocked([&] { return study_status(store); });
  py::list failures;
  for (const FailedUnit& one : now.failures) failures.append(py::make_tuple(one.inputs, one.message));
  return py::dict("title"_a = now.title, "quantity"_a = now.quantity, "version"_a = now.version,
                  "units"_a = now.units, "done"_a = now.done, "failed"_a = now.failed,
                  "others"_a = now.others, "running"_a = now.running, "rate"_a = now.rate,
                  "unit_seconds"_a = now.unit_seconds, "failures"_a = failures, "content"_a = now.content);
}

py::object to_object(const StudyValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return py::float_(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return py::str(*text);
  return py::none();
}

py::dict read(const std::string& store) {
  const StudyTable table = unlocked([&] { return read_study_table(store); });
  const auto known = [](double number) {
    return std::isnan(number) ? py::object(py::none()) : py::float_(number);
  };
  py::list rows;
  for (const StudyRow& row : table.rows) {
    py::dict one;
    for (std::size_t i = 0; i < row.inputs.size(); ++i)
      one[table.parameters[i].c_str()] = to_object(row.inputs[i]);
    for (std::size_t i = 0; i < table.results.size(); ++i) {
      const bool there = i < row.results.size();
      one[table.results[i].c_str()] = there ? known(row.results[i].value) : py::none();
      one[(table.results[i] + "_error").c_str()] = there ? known(row.results[i].error) : py::none();
    }
    one["message"] = row.message.empty() ? py::object(py::none()) : py::str(row.message);
    one["warning"] = row.warning.empty() ? py::object(py::none()) : py::str(row.warning);
    rows.append(one);
  }
  return py::dict("title"_a = table.title, "quantity"_a = table.quantity, "version"_a = table.version,
                  "content"_a = table.content, "configuration"_a = table.configuration,
                  "units"_a = table.units, "parameters"_a = table.parameters, "results"_a = table.results,
                  "axes"_a = table.axes, "rows"_a = rows);
}

}  // namespace

void bind_studies(py::module_& module) {
  module.def("run_study", &run);
  module.def("study_status", &status);
  module.def("read_study", &read);
}

}  // namespace largo::python
