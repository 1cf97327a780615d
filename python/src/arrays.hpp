// Arrays from Python and back: NumPy's, anything with DLPack (PyTorch, JAX), a buffer, or nested sequences.
//
// float64 and float32 are read in place where the layout allows; integers and booleans become float64;
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

/// An array argument as its messages name it.
struct Argument {
  const char* function;
  const char* name;
};

/// Real numbers of any kind and layout; no copy of an array.
py::array real_array(const Argument& argument, py::handle value);
/// The same as contiguous float64; no copy where it is that.
DoubleArray double_array(const Argument& argument, py::handle value);

Vector to_vector(const Argument& argument, py::handle value);
Matrix to_matrix(const Argument& argument, py::handle value);
/// The same, or a matrix by its name ("0.5*identity"), of this size where the name does not say.
Matrix to_matrix(const Argument& argument, py::handle value, std::optional<std::ptrdiff_t> rows,
                 std::optional<std::ptrdiff_t> columns = std::nullopt);

/// One row each, read in place where it is contiguous float64. A single vector is one row, and the answer is
/// to be a vector too.
struct Rows {
  DoubleArray array;
  bool single = false;

  std::ptrdiff_t count() const { return single ? 1 : array.shape(0); }
  std::ptrdiff_t dimension() const { return array.shape(single ? 0 : 1); }
  Eigen::Map<const RowMatrix> view() const { return {array.data(), count(), dimension()}; }
};
Rows to_rows(const Argument& argument, py::handle value);

/// A matrix of tokens as it lies in memory, and the array that keeps it there.
struct Tokens {
  py::array array;
  ArrayView view;
};
/// float32 and float64 of any layout with strides of whole elements, forwards, in place; others as a float64
/// copy.
Tokens to_tokens(const Argument& argument, py::handle value);

/// Something that Python's memory keeps alive, for C++: released under the lock.
std::shared_ptr<const void> kept_alive(py::object object);

/// A law, or an array of tokens as the law of that prompt. The Python object lives as long as the result: it
/// may be a law that Python defines.
MeasurePtr to_law(const Argument& argument, py::handle value);

/// Without copying the numbers.
py::array to_numpy(RowMatrix rows);
py::array to_numpy(Vector values);
py::array to_numpy(const Matrix& matrix);

/// A TypeError: "attention: U has dtype complex128, must be real numbers".
[[noreturn]] void refuse_type(const Argument& argument, const std::string& what);

}  // namespace largo::python
