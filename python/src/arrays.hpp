// Arrays from Python and back: NumPy's, anything with DLPack (PyTorch, JAX), a buffer, or nested sequences.
//
// float64 and float32 are read in place if the layout allows it; integers and booleans become float64;
// complex numbers, objects and long doubles are refused with a TypeError that names the argument.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "largo/measures/measure.hpp"
#include "largo/runtime/array_view.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo::python {

namespace py = pybind11;

using DoubleArray = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// An array argument, as messages name it.
struct Argument {
  const char* function;
  const char* name;
};

/// Real numbers of any kind and layout; an array is not copied.
py::array real_array(const Argument& argument, py::handle value);
/// The same as contiguous float64; not copied if it already is.
DoubleArray double_array(const Argument& argument, py::handle value);

Vector to_vector(const Argument& argument, py::handle value);
Matrix to_matrix(const Argument& argument, py::handle value);
/// The same, or a matrix by its name ("0.5*identity"), of this size unless the name gives one.
Matrix to_matrix(const Argument& argument, py::handle value, std::optional<std::ptrdiff_t> rows,
                 std::optional<std::ptrdiff_t> columns = std::nullopt);

/// One vector in each row, read in place if the array is contiguous float64. A single vector is one row, and
/// then the result is a vector, too.
struct Rows {
  DoubleArray array;
  bool single = false;

  std::ptrdiff_t count() const { return single ? 1 : array.shape(0); }
  std::ptrdiff_t dimension() const { return array.shape(single ? 0 : 1); }
  Eigen::Map<const RowMatrix> view() const { return {array.data(), count(), dimension()}; }
};
Rows to_rows(const Argument& argument, py::handle value);

/// A matrix of tokens in place, and the array that keeps its memory.
struct Tokens {
  py::array array;
  ArrayView view;
};
/// Reads float32 and float64 with positive strides of whole elements in place, and copies others to float64.
Tokens to_tokens(const Argument& argument, py::handle value);

/// Keeps a Python object alive for C++, and releases it under the lock.
std::shared_ptr<const void> kept_alive(py::object object);

/// A law, or an array of tokens as the law of that prompt. The Python object lives as long as the result,
/// since it may be a law defined in Python.
MeasurePtr to_law(const Argument& argument, py::handle value);

/// The numbers of a RowMatrix or a Vector are not copied.
py::array to_numpy(RowMatrix rows);
py::array to_numpy(Vector values);
py::array to_numpy(const Matrix& matrix);

/// Throws a TypeError such as "attention: U has dtype complex128, must be real numbers".
[[noreturn]] void refuse_type(const Argument& argument, const std::string& what);

}  // namespace largo::python
