#include "arrays.hpp"

#include <utility>

#include <fmt/format.h>

#include "interpreter.hpp"
#include "largo/measures/empirical.hpp"
#include "largo/measures/named_matrix.hpp"
#include "largo/runtime/check.hpp"

namespace largo::python {
namespace {

std::string type_name(py::handle value) { return py::str(py::type::handle_of(value).attr("__name__")); }

// NumPy's masked arrays are arrays, but must not be read as such.
bool is_masked(py::handle array) {
  if (py::type::handle_of(array).is(
          py::handle(reinterpret_cast<PyObject*>(py::detail::npy_api::get().PyArray_Type_)))) {
    return false;
  }
  return py::isinstance(array, py::module_::import("numpy").attr("ma").attr("MaskedArray"));
}

py::array read(const Argument& argument, py::handle value) {
  if (py::isinstance<py::array>(value) && is_masked(value)) {
    refuse_type(argument, "is a masked array, must be one without a mask: filled() or compressed()");
  }
  if (py::isinstance<py::array>(value)) return py::reinterpret_borrow<py::array>(value);
  if (value.is_none() || py::isinstance<py::str>(value) || py::isinstance<py::bytes>(value)) {
    refuse_type(argument, fmt::format("is {}, must be an array of real numbers", type_name(value)));
  }
  const py::module_ numpy = py::module_::import("numpy");
  try {
    if (py::hasattr(value, "__dlpack__")) return numpy.attr("from_dlpack")(value);
    return numpy.attr("asarray")(value);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    refuse_type(argument, fmt::format("is {}, which cannot be read as an array: {}", type_name(value),
                                      std::string(py::str(error.value()))));
  }
}

// NumPy itself is asked, because pybind11 2.10 reads the size where NumPy 1 has it, which is something else
// in NumPy 2. For the same reason, arrays are made with explicit strides.
py::ssize_t item_size(const py::array& array) { return py::cast<py::ssize_t>(array.attr("itemsize")); }

bool is_aligned(const py::array& array) {
  return (array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
}

// In C order, and aligned, which ensure() does not guarantee.
DoubleArray to_doubles(const py::array& array) {
  DoubleArray doubles = DoubleArray::ensure(array);
  if (!doubles) throw py::error_already_set();
  return is_aligned(doubles) ? doubles : DoubleArray(doubles.attr("copy")());
}

void check_dimensions(const Argument& argument, const py::array& array, py::ssize_t expected,
                      const char* what) {
  if (array.ndim() == expected) return;
  fail(argument.function, argument.name, fmt::format("an array of {} dimensions", array.ndim()), what);
}

}  // namespace

void refuse_type(const Argument& argument, const std::string& what) {
  throw py::type_error(fmt::format("{}: {} {}", argument.function, argument.name, what));
}

py::array real_array(const Argument& argument, py::handle value) {
  py::array array = read(argument, value);
  const char kind = array.dtype().kind();
  const bool real = kind == 'b' || kind == 'i' || kind == 'u' || (kind == 'f' && item_size(array) <= 8);
  if (!real) {
    refuse_type(argument, fmt::format("has dtype {}, must be real numbers (float64, float32 or integers)",
                                      std::string(py::str(array.dtype()))));
  }
  return array;
}

DoubleArray double_array(const Argument& argument, py::handle value) {
  return to_doubles(real_array(argument, value));
}

Vector to_vector(const Argument& argument, py::handle value) {
  const DoubleArray array = double_array(argument, value);
  check_dimensions(argument, array, 1, "a vector");
  return Eigen::Map<const Vector>(array.data(), array.shape(0));
}

Matrix to_matrix(const Argument& argument, py::handle value) {
  const DoubleArray array = double_array(argument, value);
  check_dimensions(argument, array, 2, "a matrix");
  return Eigen::Map<const RowMatrix>(array.data(), array.shape(0), array.shape(1));
}

Matrix to_matrix(const Argument& argument, py::handle value, std::optional<std::ptrdiff_t> rows,
                 std::optional<std::ptrdiff_t> columns) {
  if (!py::isinstance<py::str>(value)) return to_matrix(argument, value);
  return named_matrix(argument.name, py::cast<std::string>(value), rows, columns);
}

Rows to_rows(const Argument& argument, py::handle value) {
  Rows rows{double_array(argument, value), false};
  rows.single = rows.array.ndim() == 1;
  if (!rows.single) check_dimensions(argument, rows.array, 2, "a vector, or a matrix with one in each row");
  return rows;
}

Tokens to_tokens(const Argument& argument, py::handle value) {
  Tokens tokens{real_array(argument, value), {}};
  check_dimensions(argument, tokens.array, 2, "a matrix with a token in each row");
  const auto in_place = [&] {
    const py::ssize_t size = item_size(tokens.array);
    if (tokens.array.dtype().kind() != 'f' || (size != 4 && size != 8)) return false;
    if (!is_aligned(tokens.array)) return false;
    if (!py::cast<bool>(tokens.array.dtype().attr("isnative"))) return false;
    for (py::ssize_t axis = 0; axis < 2; ++axis) {
      if (tokens.array.strides(axis) < 0 || tokens.array.strides(axis) % size != 0) return false;
    }
    return true;
  };
  if (!in_place()) tokens.array = to_doubles(tokens.array);
  const py::ssize_t size = item_size(tokens.array);
  tokens.view = {tokens.array.data(),
                 size == 4 ? Scalar::float32 : Scalar::float64,
                 tokens.array.shape(0),
                 tokens.array.shape(1),
                 tokens.array.strides(0) / size,
                 tokens.array.strides(1) / size};
  return tokens;
}

std::shared_ptr<const void> kept_alive(py::object object) {
  return {object.release().ptr(), [](const void* pointer) {
            if (Py_IsInitialized() == 0) return;  // the interpreter is gone, and its objects with it
            const Locked lock;
            Py_DECREF(static_cast<PyObject*>(const_cast<void*>(pointer)));
          }};
}

MeasurePtr to_law(const Argument& argument, py::handle value) {
  if (py::isinstance<Measure>(value)) {
    const auto* law = py::cast<const Measure*>(value);
    return {kept_alive(py::reinterpret_borrow<py::object>(value)), law};
  }
  if (py::isinstance<py::str>(value)) refuse_type(argument, "is a str, must be a law: largo.law(name, d)");
  Tokens tokens = to_tokens(argument, value);
  return std::make_shared<EmpiricalMeasure>(tokens.view, kept_alive(std::move(tokens.array)));
}

py::array to_numpy(RowMatrix rows) {
  auto* held = new RowMatrix(std::move(rows));
  const py::capsule owner(held, [](void* pointer) { delete static_cast<RowMatrix*>(pointer); });
  constexpr std::ptrdiff_t kSize = sizeof(double);
  return py::array_t<double>({held->rows(), held->cols()}, {held->cols() * kSize, kSize}, held->data(),
                             owner);
}

py::array to_numpy(Vector values) {
  auto* held = new Vector(std::move(values));
  const py::capsule owner(held, [](void* pointer) { delete static_cast<Vector*>(pointer); });
  return py::array_t<double>({held->size()}, {static_cast<std::ptrdiff_t>(sizeof(double))}, held->data(),
                             owner);
}

py::array to_numpy(const Matrix& matrix) { return to_numpy(RowMatrix(matrix)); }

}  // namespace largo::python
