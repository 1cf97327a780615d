#include "records.hpp"

#include <pybind11/stl.h>

namespace largo::python {

Broadcast broadcast(const char* function,
                    std::initializer_list<std::pair<const char*, py::handle>> arguments) {
  py::list given;
  for (const auto& [name, value] : arguments) given.append(real_array({function, name}, value));
  const py::sequence together = py::module_::import("numpy").attr("broadcast_arrays")(*given);
  Broadcast result;
  std::size_t i = 0;
  for (const auto& [name, value] : arguments) {
    result.arrays.push_back(double_array({function, name}, together[i++]));
  }
  const DoubleArray& first = result.arrays[0];
  result.shape.assign(first.shape(), first.shape() + first.ndim());
  return result;
}

py::object shaped(Vector values, const std::vector<py::ssize_t>& shape) {
  if (shape.empty()) return py::float_(values[0]);
  return to_numpy(std::move(values)).attr("reshape")(py::tuple(py::cast(shape)));
}

}  // namespace largo::python
