// The parts of laws, as Python gives them: lists of laws, coordinates, sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "arrays.hpp"
#include "largo/concentration/attention_layer.hpp"
#include "largo/measures/product.hpp"

namespace largo::python {

/// A list, a tuple or an array of laws and prompts.
std::vector<MeasurePtr> laws_of(const Argument& argument, const py::object& laws);
std::vector<CoordinateLawPtr> coordinates_of(const py::object& coordinates);

/// "rademacher", "uniform", "three-point", "bernoulli" or "laplace", and its numbers by name.
CoordinateLawPtr coordinate(const std::string& name, const py::dict& numbers);

/// A law of queries, or one or several queries, as rows.
Queries to_queries(const Argument& argument, const py::object& queries);

/// Rows or columns of a named matrix, if they are given.
std::optional<std::ptrdiff_t> extent_of(const char* name, const py::object& given);

}  // namespace largo::python
