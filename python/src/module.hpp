// The parts of the extension, each in a file of its own.
#pragma once

#include <pybind11/pybind11.h>

namespace largo::python {

void bind_laws(pybind11::module_& module);
void bind_attention(pybind11::module_& module);
void bind_moments(pybind11::module_& module);
void bind_temperature(pybind11::module_& module);
void bind_assumptions(pybind11::module_& module);
void bind_concentration(pybind11::module_& module);
void bind_heads(pybind11::module_& module);
void bind_icl(pybind11::module_& module);
void bind_training(pybind11::module_& module);
void bind_parts(pybind11::module_& module);
void bind_tasks(pybind11::module_& module);
void bind_any_training(pybind11::module_& module);
void bind_single_location(pybind11::module_& module);
void bind_studies(pybind11::module_& module);

}  // namespace largo::python
