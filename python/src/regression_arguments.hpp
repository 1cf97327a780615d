// Regression with any laws, as Python gives them.
#pragma once

#include <memory>

#include <pybind11/pybind11.h>

#include "largo/icl/law_regression.hpp"
#include "scalars.hpp"

namespace largo::python {

/// Laws are names, laws or arrays of tokens; those that are None have their defaults. A number for `noise` is
/// a variance. Without `d`, the first law that knows its dimension gives it.
std::shared_ptr<LawRegression> make_regression(const pybind11::object& d, const pybind11::object& covariates,
                                               const pybind11::object& queries, const pybind11::object& prior,
                                               const pybind11::object& noise,
                                               const pybind11::object& noise_scale, Whole<"outputs"> outputs);

}  // namespace largo::python
