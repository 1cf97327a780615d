#include "largo/runtime/check.hpp"

#include <cmath>

#include <fmt/format.h>

namespace largo {
namespace {

constexpr double kSymmetryTolerance = 1e-12;  // relative to the largest entry; documented in check.hpp

std::string entry(std::string_view argument, std::ptrdiff_t i) { return fmt::format("{}[{}]", argument, i); }

std::string entry(std::string_view argument, std::ptrdiff_t i, std::ptrdiff_t j) {
  return fmt::format("{}({},{})", argument, i, j);
}

}  // namespace

void fail(std::string_view function, std::string_view argument, std::string_view value,
          std::string_view requirement) {
  throw InputError(fmt::format("{}: {} is {}, must be {}", function, argument, value, requirement));
}

void fail(std::string_view function, std::string_view argument, double value, std::string_view requirement) {
  fail(function, argument, fmt::format("{}", value), requirement);
}

void fail(std::string_view function, std::string_view message) {
  throw InputError(fmt::format("{}: {}", function, message));
}

void check_finite(std::string_view function, std::string_view argument, double value) {
  if (!std::isfinite(value)) fail(function, argument, value, "finite");
}

void check_positive(std::string_view function, std::string_view argument, double value) {
  if (!(value > 0) || !std::isfinite(value)) fail(function, argument, value, "positive and finite");
}

void check_nonnegative(std::string_view function, std::string_view argument, double value) {
  if (!(value >= 0) || !std::isfinite(value)) fail(function, argument, value, "non-negative and finite");
}

void check_size(std::string_view function, std::string_view argument, std::ptrdiff_t size,
                std::ptrdiff_t expected) {
  if (size != expected) {
    fail(function, fmt::format("size of {}", argument), fmt::format("{}", size), fmt::format("{}", expected));
  }
}

void check_shape(std::string_view function, std::string_view argument, std::ptrdiff_t rows,
                 std::ptrdiff_t columns, std::ptrdiff_t expected_rows, std::ptrdiff_t expected_columns) {
  if (rows != expected_rows || columns != expected_columns) {
    fail(function, fmt::format("shape of {}", argument), fmt::format("{} x {}", rows, columns),
         fmt::format("{} x {}", expected_rows, expected_columns));
  }
}

void check_finite(std::string_view function, std::string_view argument, const ConstMatrixRef& values) {
  if (values.allFinite()) return;
  for (std::ptrdiff_t i = 0; i < values.rows(); ++i) {
    for (std::ptrdiff_t j = 0; j < values.cols(); ++j) {
      if (!std::isfinite(values(i, j))) {
        const std::string name = values.cols() == 1 ? entry(argument, i) : entry(argument, i, j);
        fail(function, name, values(i, j), "finite");
      }
    }
  }
}

void check_symmetric(std::string_view function, std::string_view argument, const ConstMatrixRef& values) {
  check_shape(function, argument, values.rows(), values.cols(), values.rows(), values.rows());
  check_finite(function, argument, values);
  const double tolerance = values.size() == 0 ? 0 : kSymmetryTolerance * values.cwiseAbs().maxCoeff();
  for (std::ptrdiff_t i = 0; i < values.rows(); ++i) {
    for (std::ptrdiff_t j = 0; j < i; ++j) {
      if (std::abs(values(i, j) - values(j, i)) > tolerance) {
        throw InputError(fmt::format("{}: {} is {}, must equal {} = {} (symmetric matrix)", function,
                                     entry(argument, i, j), values(i, j), entry(argument, j, i),
                                     values(j, i)));
      }
    }
  }
}

void check_weights(std::string_view function, std::string_view argument, const ConstVectorRef& weights) {
  for (std::ptrdiff_t i = 0; i < weights.size(); ++i) {
    check_nonnegative(function, entry(argument, i), weights[i]);
  }
  const double sum = weights.sum();
  if (!(sum > 0) || !std::isfinite(sum)) {
    fail(function, fmt::format("sum of {}", argument), sum, "positive and finite");
  }
}

}  // namespace largo
