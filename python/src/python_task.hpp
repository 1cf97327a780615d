// Tasks and losses that Python code defines: a subclass of largo.icl.Task with draw(uniforms), a function
// (output, target) -> (value, slope).
#pragma once

#include <pybind11/pybind11.h>

#include "largo/icl/prompt_task.hpp"

namespace largo::python {

/// Calls draw(uniforms) of the Python object, under the interpreter's lock, from whichever thread asks. What
/// Python raises goes through unchanged; wrong shapes and numbers that are not finite are errors with its
/// name.
class PythonTask final : public PromptTask {
 public:
  PythonTask(Eigen::Index token_dimension, Eigen::Index query_dimension);

  Eigen::Index token_dimension() const override { return token_dimension_; }
  Eigen::Index query_dimension() const override { return query_dimension_; }
  /// For uniforms of this stream: as many as the attribute uniforms_per_task says.
  PromptDraw draw(const Stream& stream) const override;

 private:
  Eigen::Index token_dimension_;
  Eigen::Index query_dimension_;
};

/// "squared", "logistic", or a function of Python.
LossPtr to_loss(const pybind11::object& loss);

}  // namespace largo::python
