// A law defined in Python: a subclass of largo.Law with log_partition(a), and whatever else it defines.
#pragma once

#include <pybind11/pybind11.h>

#include "largo/measures/measure.hpp"

namespace largo::python {

/// Calls the methods of the Python object under the interpreter's lock, from any thread. What Python raises
/// is passed on unchanged; numbers that are not finite and wrong shapes are InputErrors, except for a
/// log-partition of +inf, which has no tilt.
class PythonLaw final : public Measure {
 public:
  explicit PythonLaw(std::ptrdiff_t dimension) : Measure(dimension) {}

  double log_partition(const ConstVectorRef& direction) const override;
  /// Uses tilted_mean(a) and tilted_covariance(a) if they are defined, otherwise differences of
  /// log_partition.
  Tilt tilt(const ConstVectorRef& direction, TiltOrder order) const override;
  /// Calls tokens(uniforms) with uniforms of this stream, uniforms_per_token (else the dimension) per row.
  void sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const override;

 private:
  class Recording;
  pybind11::function method(const char* name) const;
  /// Throws InputError, which names the law and the direction.
  void refuse_infinite(const ConstVectorRef& direction) const;
  Tilt tilt_by_differences(const ConstVectorRef& direction, TiltOrder order) const;
};

}  // namespace largo::python
