// Objects that remember how they were made, so that pickle and copy can make them again, bit for bit. The
// recipe is the attribute _recipe: (maker, arguments, named arguments).
#pragma once

#include <pybind11/pybind11.h>

namespace largo::python {

/// From now on, objects of this type (with dynamic_attr) remember what they were constructed from. Arrays and
/// lists are copied, since they may be changed afterwards. The exception is the first argument, named
/// `shared`: if it is an array, it is not copied, because a prompt reads it in place.
void remember_construction(pybind11::handle type, const char* shared = nullptr);

/// __reduce__: returns the recipe. An object of a Python subclass, which has none, becomes `base` with these
/// arguments and its attributes.
pybind11::object reduce(const pybind11::object& self, pybind11::handle base, pybind11::tuple arguments);

}  // namespace largo::python
