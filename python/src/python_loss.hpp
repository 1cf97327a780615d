// Losses as Python gives them: names, functions, and the losses of task files.
#pragma once

#include <pybind11/pybind11.h>

#include "largo/icl/loss.hpp"

namespace largo::python {

/// The argument `loss` of the function: a name, an icl.Loss, or a function (outputs, targets) -> (values,
/// slopes) of many prompts. The arrays of such a function are (n,) for one output and (n, m) for several,
/// except that values are always (n,). It is called under the interpreter's lock, from any thread; what it
/// raises is passed on unchanged, and results that are not finite or have another shape are InputErrors.
LossPtr to_loss(const char* function, const pybind11::object& loss);

}  // namespace largo::python
