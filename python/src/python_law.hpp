// A law that Python code defines: a subclass of largo.Law with log_partition(a), and what else it knows.
#pragma once

#include <pybind11/pybind11.h>

#include "largo/measures/measure.hpp"

namespace largo::python {

/// Calls the methods of the Python object, under the interpreter's lock, from whichever thread asks. What
/// Python raises goes through unchanged; numbers that are not finite and wrong shapes are InputErrors.
class PythonLaw final : public Measure {
 public:
  explicit PythonLaw(std::ptrdiff_t dimension) : Measure(dimension) {}

  double log_partition(const ConstVectorRef& direction) const override;
  /// tilted_mean(a) and tilted_covariance(a) where they are defined, else differences of log_partition.
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  /// tokens(uniforms), for uniforms of this stream: uniforms_per_token (else the dimension) in each row.
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;

 private:
  pybind11::function method(const char* name) const;
};

}  // namespace largo::python
