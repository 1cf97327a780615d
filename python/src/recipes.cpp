#include "recipes.hpp"

#include <string>
#include <utility>

#include <pybind11/numpy.h>

namespace largo::python {
namespace {

namespace py = pybind11;

constexpr const char* kRecipe = "_recipe";

// Copies what may be changed afterwards: arrays and lists, even inside one another.
py::object copied(py::handle value) {
  if (py::isinstance<py::array>(value)) return value.attr("copy")();
  const bool tuple = py::isinstance<py::tuple>(value);
  if (!tuple && !py::isinstance<py::list>(value)) return py::reinterpret_borrow<py::object>(value);
  py::list parts;
  for (const py::handle one : value) parts.append(copied(one));
  if (tuple) return py::tuple(parts);
  return parts;
}

}  // namespace

void remember_construction(py::handle type, const char* shared) {
  const py::object construct = type.attr("__init__");
  const auto init = [construct, type, shared](const py::object& self, const py::args& arguments,
                                              const py::kwargs& named) {
    construct(self, *arguments, **named);
    const auto kept = [](py::handle value, bool is_shared) {
      // An array is read in place, while a list has been copied into one.
      return is_shared && !py::isinstance<py::list>(value) ? py::reinterpret_borrow<py::object>(value)
                                                           : copied(value);
    };
    py::list values;
    for (const py::handle one : arguments) values.append(kept(one, shared != nullptr && values.empty()));
    py::dict others;
    for (const auto& [key, value] : named) {
      others[key] = kept(value, shared != nullptr && py::cast<std::string>(key) == shared);
    }
    self.attr(kRecipe) = py::make_tuple(type, py::tuple(values), others);
  };
  const auto doc = "__init__" + py::cast<std::string>(construct.attr("__text_signature__")) + "\n--\n\n";
  py::setattr(type, "__init__",
              py::cpp_function(init, py::name("__init__"), py::is_method(type), doc.c_str()));
}

py::object reduce(const py::object& self, py::handle base, py::tuple arguments) {
  const py::module_ laws = py::module_::import("largo._laws");
  if (py::hasattr(self, kRecipe)) return py::make_tuple(laws.attr("remake"), self.attr(kRecipe));
  return py::make_tuple(laws.attr("restore"), py::make_tuple(py::type::of(self), base, std::move(arguments),
                                                             self.attr("__dict__")));
}

}  // namespace largo::python
