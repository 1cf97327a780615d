// Objects that remember how they were made, so that pickle and copy can make them again, to the bit. The
// recipe is the attribute _recipe: (maker, arguments, named arguments).
#pragma once

#include <pybind11/pybind11.h>

namespace largo::python {

/// From now on, objects of this type (with dynamic_attr) remember what they were constructed from. Arrays and
/// lists may be changed afterwards, and are copied; but `shared`, the name of the first argument, is not
/// copied where it is an array, which a prompt reads where it lies.
void remember_construction(pybind11::handle type, const char* shared = nullptr);

/// __reduce__: the recipe; a subclass in Python that has none is `base` with these arguments, and its
/// attributes.
pybind11::object reduce(const pybind11::object& self, pybind11::handle base, pybind11::tuple arguments);

}  // namespace largo::python
