#include "scalars.hpp"

#include <cmath>

#include <fmt/format.h>

#include "largo/runtime/check.hpp"

namespace largo::python {
namespace {

namespace py = pybind11;

// Python's repr of the value on one line, shortened to 60 characters.
std::string shown(py::handle value) {
  constexpr py::ssize_t kMost = 60;
  const py::str line = py::str(" ").attr("join")(py::str(py::repr(value)).attr("split")());
  if (py::len(line) <= kMost) return line;
  return std::string(py::str(line[py::slice(0, kMost, 1)])) + " …";
}

[[noreturn]] void refuse(const char* name, py::handle value, const char* expected) {
  throw py::type_error(fmt::format("{} is {}, must be {}", name, shown(value), expected));
}

[[noreturn]] void refuse_value(const char* name, py::handle value, const char* expected) {
  throw py::value_error(fmt::format("{} is {}, must be {}", name, shown(value), expected));
}

py::int_ steal(PyObject* number) {
  if (number == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::int_>(number);
}

// Accepts 1000, and 1e3 too, since a count may come from a computation, but not texts that read like numbers.
py::int_ index_of(const char* name, py::handle value) {
  if (PyIndex_Check(value.ptr()) != 0) return steal(PyNumber_Index(value.ptr()));
  const PyNumberMethods* methods = Py_TYPE(value.ptr())->tp_as_number;
  if (methods == nullptr || methods->nb_float == nullptr) refuse(name, value, "a whole number");
  const double number = read_real(name, value);
  if (number != std::floor(number) || std::isinf(number)) refuse(name, value, "a whole number");
  return steal(PyLong_FromDouble(number));
}

}  // namespace

std::int64_t read_whole(const char* name, py::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index_of(name, value).ptr(), &overflow);
  if (overflow != 0) refuse_value(name, value, "between -2^63 and 2^63 - 1");
  return number;
}

std::optional<std::int64_t> read_optional(const char* name, py::handle value) {
  if (value.is_none()) return std::nullopt;
  return read_whole(name, value);
}

double read_real(const char* name, py::handle value) {
  const double number = PyFloat_AsDouble(value.ptr());
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    const bool large = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
    if (!large && PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw py::error_already_set();
    PyErr_Clear();
    if (large) refuse_value(name, value, "within the range of float64");
    refuse(name, value, "a real number");
  }
  return number;
}

std::string read_text(const char* name, py::handle value) {
  if (!py::isinstance<py::str>(value)) refuse(name, value, "a str");
  return py::cast<std::string>(value);
}

AttentionKind kind_of(const char* function, const std::string& attention) {
  if (attention == "softmax") return AttentionKind::softmax;
  if (attention == "linear") return AttentionKind::linear;
  fail(function, "attention", fmt::format("'{}'", attention), "softmax or linear");
}

int read_threads(py::handle value) {
  const std::int64_t number = read_whole("threads", value);
  if (number < 0 || number > 4096) refuse_value("threads", value, "between 0 (all cores) and 4096");
  return static_cast<int>(number);
}

std::uint64_t read_seed(py::handle value) {
  const py::int_ number = index_of("seed", value);
  const unsigned long long seed = PyLong_AsUnsignedLongLong(number.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_value("seed", value, "between 0 and 2^64 - 1");
  }
  return seed;
}

}  // namespace largo::python
