#include "regression_arguments.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "arrays.hpp"
#include "largo/measures/gaussian.hpp"
#include "largo/measures/named_law.hpp"
#include "largo/runtime/check.hpp"

namespace largo::python {
namespace {

constexpr const char* kRegression = "icl.Regression";
constexpr std::int64_t kMostOutputs = 10'000, kLargestDimension = 10'000;

// A law by its name, or as it is given; null for None. Messages begin with the argument.
MeasurePtr law_of(const char* argument, const py::object& given, std::optional<std::ptrdiff_t> size) {
  if (given.is_none()) return {};
  if (!py::isinstance<py::str>(given)) return to_law({kRegression, argument}, given);
  try {
    return named_law(py::cast<std::string>(given), size);
  } catch (const InputError& error) {
    fail(kRegression, fmt::format("{}: {}", argument, error.what()));
  }
}

// The dimension of a law that knows it. A name that is wrong for every dimension is an error.
std::optional<std::ptrdiff_t> known_dimension(const char* argument, const py::object& given) {
  if (given.is_none()) return std::nullopt;
  try {
    return law_of(argument, given, std::nullopt)->dimension();
  } catch (const InputError&) {
    if (!py::isinstance<py::str>(given)) throw;
  }
  law_of(argument, given, 1);
  return std::nullopt;
}

MeasurePtr noise_of(const py::object& given, std::ptrdiff_t outputs) {
  const bool is_law = given.is_none() || py::isinstance<py::str>(given) || py::isinstance<Measure>(given);
  if (is_law || py::cast<int>(py::module_::import("numpy").attr("ndim")(given)) > 0) {
    return law_of("noise", given, outputs);
  }
  const double variance = read_real("noise", given);
  check_nonnegative(kRegression, "noise", variance);
  check_finite(kRegression, "noise", variance);
  if (variance == 0) return {};
  return std::make_shared<GaussianMeasure>(Vector::Zero(outputs),
                                           variance * Matrix::Identity(outputs, outputs));
}

}  // namespace

std::shared_ptr<LawRegression> make_regression(const py::object& dimension, const py::object& covariates,
                                               const py::object& queries, const py::object& prior,
                                               const py::object& noise, const py::object& noise_scale,
                                               Whole<"outputs"> outputs) {
  const std::int64_t m = outputs.value;
  if (m < 1 || m > kMostOutputs) {
    fail(kRegression, "outputs", static_cast<double>(m), fmt::format("between 1 and {}", kMostOutputs));
  }
  if (covariates.is_none()) refuse_type({kRegression, "covariates"}, "is None, must be a law or its name");
  std::optional<std::ptrdiff_t> d = read_optional("d", dimension);
  if (!d) d = known_dimension("covariates", covariates);
  if (!d) d = known_dimension("queries", queries);
  if (!d && m == 1) d = known_dimension("prior", prior);  // of several outputs, it may be that of all rows
  if (!d) fail(kRegression, "d is missing: give it, or a law that knows its dimension");
  if (*d < 1 || *d > kLargestDimension) {
    fail(kRegression, "d", static_cast<double>(*d), fmt::format("between 1 and {}", kLargestDimension));
  }
  RegressionLaws laws;
  laws.covariates = law_of("covariates", covariates, d);
  laws.queries = law_of("queries", queries, d);
  laws.prior = law_of("prior", prior, d);
  laws.noise = noise_of(noise, m);
  laws.noise_scale = law_of("noise_scale", noise_scale, 1);
  laws.outputs = m;
  check_size(kRegression, "dimension of the covariates", laws.covariates->dimension(), *d);
  return std::make_shared<LawRegression>(std::move(laws));
}

}  // namespace largo::python
