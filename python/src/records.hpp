// Results at many points as one object: fields are numbers at a single point, otherwise arrays that view the
// results without a copy.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "arrays.hpp"

namespace largo::python {

template <typename Record>
struct Records {
  std::vector<Record> points;
  std::vector<py::ssize_t> shape;  ///< empty for one point
};

/// `self` is the Python object that holds the records; in strided(), `first` points into the first record.
template <typename Record>
py::object field(const py::object& self, const Records<Record>& records, double Record::*member) {
  if (records.shape.empty()) return py::float_(records.points[0].*member);
  return strided(self, records, records.points.empty() ? nullptr : &(records.points[0].*member));
}

template <typename Record>
py::object strided(const py::object& self, const Records<Record>& records, const double* first) {
  std::vector<py::ssize_t> strides(records.shape.size());
  py::ssize_t stride = sizeof(Record);
  for (std::size_t axis = strides.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= records.shape[axis];
  }
  static const double none = 0;  // even an empty array must point somewhere
  py::array_t<double> array(records.shape, strides, first != nullptr ? first : &none, self);
  array.attr("setflags")(py::arg("write") = false);
  return array;
}

/// Arguments broadcast against each other, as contiguous numbers.
struct Broadcast {
  std::vector<DoubleArray> arrays;
  std::vector<py::ssize_t> shape;  ///< empty if all are single numbers

  std::ptrdiff_t count() const { return arrays[0].size(); }
  const double* operator[](std::size_t argument) const { return arrays[argument].data(); }
};
Broadcast broadcast(const char* function,
                    std::initializer_list<std::pair<const char*, py::handle>> arguments);

/// A single number as a float, otherwise an array of this shape.
py::object shaped(Vector values, const std::vector<py::ssize_t>& shape);

/// Whether the value is a float or an int of Python (np.float64 is one), without NumPy's machinery.
inline bool is_number(py::handle value) {
  return PyFloat_Check(value.ptr()) != 0 || PyLong_CheckExact(value.ptr()) != 0;
}

}  // namespace largo::python
