// What the bindings of icl share.
#pragma once

#include <string>

#include <pybind11/pybind11.h>

#include "largo/icl/regression_problem.hpp"
#include "largo/sampling/regression_batch.hpp"

namespace largo::python {

AttentionKind kind_of(const char* function, const std::string& kind);

/// U, (d+1) x (d+1), and v; finite.
RegressionParameters parameters_of(const RegressionProblem& problem, const pybind11::object& U,
                                   const pybind11::object& v);

}  // namespace largo::python
