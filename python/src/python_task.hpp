// Tasks defined in Python: a subclass of largo.icl.Task with draw(uniforms).
#pragma once

#include <pybind11/pybind11.h>

#include "largo/icl/prompt_task.hpp"

namespace largo::python {

/// Calls draw(uniforms) of the Python object under the interpreter's lock, from any thread. What Python
/// raises is passed on unchanged; wrong shapes and numbers that are not finite are errors that name it.
class PythonTask final : public PromptTask {
 public:
  PythonTask(Eigen::Index token_dimension, Eigen::Index query_dimension, Eigen::Index output_dimension);

  Eigen::Index token_dimension() const override { return token_dimension_; }
  Eigen::Index query_dimension() const override { return query_dimension_; }
  Eigen::Index output_dimension() const override { return output_dimension_; }
  /// Uses uniforms of this stream, as many as the attribute uniforms_per_task says.
  PromptDraw draw(const Stream& stream) const override;

 private:
  Eigen::Index token_dimension_, query_dimension_, output_dimension_;
};

/// The argument `task` of the function, kept alive because it may be defined in Python.
PromptTaskPtr to_task(const char* function, const pybind11::object& task);

}  // namespace largo::python
