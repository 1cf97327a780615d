// largo._largo: what the Python package largo is made of. Signatures and types are in largo/_largo.pyi.
#include "module.hpp"

#include "calls.hpp"
#include "largo/runtime/execution.hpp"
#include "largo/version.hpp"

PYBIND11_MODULE(_largo, module) {
  namespace py = pybind11;
  py::options options;
  options.disable_function_signatures();
  module.doc() = "The compiled part of largo; use the package.";
  module.attr("__version__") = largo::kVersion;
  largo::python::stop_calls_at_exit();
  largo::python::bind_laws(module);
  largo::python::bind_attention(module);
  largo::python::bind_moments(module);
  largo::python::bind_temperature(module);
  largo::python::bind_concentration(module);
  largo::python::bind_assumptions(module);
  largo::python::bind_heads(module);
  largo::python::bind_icl(module);
  largo::python::bind_training(module);
  largo::python::bind_parts(module);
  largo::python::bind_tasks(module);
  largo::python::bind_any_training(module);
  largo::python::bind_single_location(module);
  largo::python::bind_studies(module);
  largo::python::count_calls(module);
}
