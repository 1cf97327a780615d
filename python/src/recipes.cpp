#include "recipes.hpp"

#include <utility>

#include <pybind11/numpy.h>

namespace largo::python {
namespace {

namespace py = pybind11;

constexpr const char* kRecipe = "_recipe";

py::object kept(const py::object& value, Arrays arrays) {
  if (arrays == Arrays::shared || !py::isinstance<py::array>(value)) return value;
  return value.attr("copy")();
}

}  // namespace

void remember_construction(py::handle type, Arrays arrays) {
  const py::object construct = type.attr("__init__");
  const auto init = [construct, type, arrays](const py::object& self, const py::args& arguments,
                                              const py::kwargs& named) {
    construct(self, *arguments, **named);
    py::list values;
    for (const py::handle one : arguments)
      values.append(kept(py::reinterpret_borrow<py::object>(one), arrays));
    py::dict others;
    for (const auto& [key, value] : named) {
      others[key] = kept(py::reinterpret_borrow<py::object>(value), arrays);
    }
    self.attr(kRecipe) = py::make_tuple(type, py::tuple(values), others);
  };
  py::setattr(type, "__init__", py::cpp_function(init, py::name("__init__"), py::is_method(type)));
}

py::object reduce(const py::object& self, py::handle base, py::tuple arguments) {
  const py::module_ laws = py::module_::import("largo._laws");
  if (py::hasattr(self, kRecipe)) return py::make_tuple(laws.attr("remake"), self.attr(kRecipe));
  return py::make_tuple(laws.attr("restore"), py::make_tuple(py::type::of(self), base, std::move(arguments),
                                                             self.attr("__dict__")));
}

}  // namespace largo::python
