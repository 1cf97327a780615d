#include "law_arguments.hpp"

#include <memory>

#include <fmt/format.h>

#include "largo/measures/empirical.hpp"
#include "largo/runtime/check.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

// The items of a list, a tuple or an array. For an item of an array, this is the only reference to it.
std::vector<py::object> items_of(const Argument& argument, const py::object& list, const char* expected) {
  if (!py::isinstance<py::sequence>(list)) refuse_type(argument, expected);
  std::vector<py::object> items;
  const auto count = static_cast<py::ssize_t>(py::len(list));
  for (py::ssize_t i = 0; i < count; ++i) items.emplace_back(list[py::int_(i)]);
  return items;
}

}  // namespace

std::vector<MeasurePtr> laws_of(const Argument& argument, const py::object& laws) {
  std::vector<MeasurePtr> all;
  for (const py::object& one : items_of(argument, laws, "must be a list of laws")) {
    all.push_back(to_law(argument, one));
  }
  return all;
}

std::vector<CoordinateLawPtr> coordinates_of(const py::object& coordinates) {
  constexpr const char* kExpected = "must be a list of coordinates, as largo.rademacher and others make one";
  const Argument argument{"Product", "coordinates"};
  std::vector<CoordinateLawPtr> all;
  for (const py::object& one : items_of(argument, coordinates, kExpected)) {
    if (!py::isinstance<CoordinateLaw>(one)) refuse_type(argument, kExpected);
    all.push_back(py::cast<std::shared_ptr<CoordinateLaw>>(one));
  }
  return all;
}

std::optional<std::ptrdiff_t> extent_of(const char* name, const py::object& given) {
  constexpr std::int64_t kMost = 100'000;
  const auto size = read_optional(name, given);
  if (size && (*size < 1 || *size > kMost)) {
    fail("matrix", name, static_cast<double>(*size), fmt::format("between 1 and {}", kMost));
  }
  return size;
}

CoordinateLawPtr coordinate(const std::string& name, const py::dict& numbers) {
  std::vector<double> values;
  for (const auto& [key, value] : numbers) {
    values.push_back(read_real(py::cast<std::string>(key).c_str(), value));
  }
  if (name == "rademacher") return rademacher(values.at(0));
  if (name == "uniform") return uniform(values.at(0));
  if (name == "three-point") return three_point(values.at(0), values.at(1));
  if (name == "bernoulli") return centred_bernoulli(values.at(0));
  return truncated_laplace(values.at(0), values.at(1));
}

Queries to_queries(const Argument& argument, const py::object& queries) {
  if (py::isinstance<Measure>(queries)) return to_law(argument, queries);
  const Rows rows = to_rows(argument, queries);
  if (rows.count() == 1) return Vector(rows.view().row(0).transpose());
  return std::make_shared<const EmpiricalMeasure>(RowMatrix(rows.view()));
}

}  // namespace largo::python
