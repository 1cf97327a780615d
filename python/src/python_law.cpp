#include "python_law.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "arrays.hpp"
#include "interpreter.hpp"
#include "largo/runtime/check.hpp"
#include "scalars.hpp"

namespace largo::python {
namespace {

py::array argument_of(const ConstVectorRef& direction) { return to_numpy(Vector(direction)); }

std::string class_name(const py::function& method) {
  return py::str(py::type::handle_of(method.attr("__self__")).attr("__name__"));
}

// Shows at most eight entries: "[0.5, -1, …]".
std::string shown(const ConstVectorRef& direction) {
  constexpr std::ptrdiff_t kShown = 8;
  const Vector head = direction.head(std::min(direction.size(), kShown));
  return fmt::format("[{:g}{}]", fmt::join(head.begin(), head.end(), ", "),
                     direction.size() > kShown ? ", …" : "");
}

// Messages say "Cosine.tilted_mean: the result at a = [0.5] is …".
template <typename Read>
auto result_of(const py::function& method, const char* name, const ConstVectorRef& direction,
               const Read& read) {
  const std::string who = fmt::format("{}.{}", class_name(method), name);
  const std::string what = fmt::format("the result at a = {}", shown(direction));
  return read(Argument{who.c_str(), what.c_str()});
}

void check_result(const Argument& argument, const Matrix& values, std::ptrdiff_t rows,
                  std::ptrdiff_t columns) {
  check_shape(argument.function, argument.name, values.rows(), values.cols(), rows, columns);
  check_finite(argument.function, argument.name, values);
}

}  // namespace

py::function PythonLaw::method(const char* name) const {
  return py::get_override(static_cast<const Measure*>(this), name);
}

double PythonLaw::log_partition(const ConstVectorRef& direction) const {
  check_direction(direction);
  const Locked lock;
  const py::function log_partition = method("log_partition");
  if (!log_partition) {
    PyErr_SetString(PyExc_NotImplementedError, "Law: a law of your own has to define log_partition(self, a)");
    throw py::error_already_set();
  }
  const py::object result = call(log_partition, argument_of(direction));
  return result_of(log_partition, "log_partition", direction, [&](const Argument& argument) {
    const py::array array = real_array(argument, result);
    if (array.size() != 1)
      fail(argument.function, argument.name, fmt::format("an array of {}", array.size()), "a number");
    const double value = *double_array(argument, array).data();
    if (value != std::numeric_limits<double>::infinity())
      check_finite(argument.function, argument.name, value);
    return value;
  });
}

// The law for differences, which remembers where Λ was infinite.
class PythonLaw::Recording final : public Measure {
 public:
  explicit Recording(const PythonLaw& law) : Measure(law.dimension()), law_(law) {}
  double log_partition(const ConstVectorRef& direction) const override {
    raised = true;
    const double value = law_.log_partition(direction);
    raised = false;
    if (std::isinf(value)) infinite_at = direction;
    return value;
  }
  mutable Vector infinite_at;   // empty: nowhere
  mutable bool raised = false;  // by the law itself

 private:
  const PythonLaw& law_;
};

void PythonLaw::refuse_infinite(const ConstVectorRef& direction) const {
  result_of(method("log_partition"), "log_partition", direction, [](const Argument& argument) {
    check_finite(argument.function, argument.name, std::numeric_limits<double>::infinity());
    return 0;
  });
}

Tilt PythonLaw::tilt_by_differences(const ConstVectorRef& direction, TiltOrder order) const {
  const Recording law(*this);
  try {
    return law.tilt(direction, order);
  } catch (const InputError&) {
    if (!law.raised && law.infinite_at.size() > 0) refuse_infinite(law.infinite_at);
    throw;
  }
}

Tilt PythonLaw::tilt(const ConstVectorRef& direction, TiltOrder order) const {
  check_direction(direction);
  const std::ptrdiff_t d = dimension();
  const Locked lock;
  const py::function tilted_mean = method("tilted_mean");
  const py::function tilted_covariance = method("tilted_covariance");
  const bool differences =
      (order >= TiltOrder::mean && !tilted_mean) || (order == TiltOrder::covariance && !tilted_covariance);
  Tilt tilt;
  if (differences) {
    tilt = tilt_by_differences(direction, order);
  } else {
    tilt.log_partition = log_partition(direction);
    if (std::isinf(tilt.log_partition)) refuse_infinite(direction);
  }
  if (order >= TiltOrder::mean && tilted_mean) {
    const py::object result = call(tilted_mean, argument_of(direction));
    tilt.mean = result_of(tilted_mean, "tilted_mean", direction, [&](const Argument& argument) {
      Vector mean = to_vector(argument, result);
      check_result(argument, mean, d, 1);
      return mean;
    });
  }
  if (order == TiltOrder::covariance && tilted_covariance) {
    const py::object result = call(tilted_covariance, argument_of(direction));
    tilt.covariance =
        result_of(tilted_covariance, "tilted_covariance", direction, [&](const Argument& argument) {
          Matrix covariance = to_matrix(argument, result);
          check_result(argument, covariance, d, d);
          return covariance;
        });
  }
  return tilt;
}

void PythonLaw::sample(const Stream& stream, std::uint64_t first_token, Eigen::Ref<RowMatrix> tokens) const {
  const Locked lock;
  const py::function draw = method("tokens");
  if (!draw) fail("Law", "a law that is sampled has to define tokens(self, uniforms)");
  const py::object self = draw.attr("__self__");
  const std::int64_t width =
      read_whole("uniforms_per_token", py::getattr(self, "uniforms_per_token", py::int_(dimension())));
  if (width < 1) fail("Law", "uniforms_per_token", static_cast<double>(width), "at least 1");
  RowMatrix uniforms(tokens.rows(), width);
  stream.uniforms(first_token * static_cast<std::uint64_t>(width),
                  {uniforms.data(), static_cast<std::size_t>(uniforms.size())});
  const py::object result = call(draw, to_numpy(std::move(uniforms)));
  const std::string who = fmt::format("{}.tokens", class_name(draw));
  const Argument argument{who.c_str(), "the result"};
  const Matrix drawn = to_matrix(argument, result);
  check_result(argument, drawn, tokens.rows(), dimension());
  tokens = drawn;
}

}  // namespace largo::python
