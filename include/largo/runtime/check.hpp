// Argument checks. Every user mistake in largo becomes one exception type, InputError, whose message is
// one line with the function, the argument, its value and what was required:
//
//   GaussianMeasure: covariance(1,0) is 0.5, must equal covariance(0,1) = 0.25
//
// The command line prints that line and exits with 2. Programming errors are asserts, not checks.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include "largo/runtime/matrix.hpp"

namespace largo {

class InputError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Throws InputError "function: argument is value, must be requirement".
[[noreturn]] void fail(std::string_view function, std::string_view argument, std::string_view value,
                       std::string_view requirement);
[[noreturn]] void fail(std::string_view function, std::string_view argument, double value,
                       std::string_view requirement);

/// Throws InputError "function: message", for mistakes that are not about one value.
[[noreturn]] void fail(std::string_view function, std::string_view message);

void check_finite(std::string_view function, std::string_view argument, double value);
void check_positive(std::string_view function, std::string_view argument, double value);
void check_nonnegative(std::string_view function, std::string_view argument, double value);

void check_size(std::string_view function, std::string_view argument, std::ptrdiff_t size,
                std::ptrdiff_t expected);
void check_shape(std::string_view function, std::string_view argument, std::ptrdiff_t rows,
                 std::ptrdiff_t columns, std::ptrdiff_t expected_rows, std::ptrdiff_t expected_columns);

/// Requires every entry of a matrix or vector to be finite; the message names the first one that is not.
void check_finite(std::string_view function, std::string_view argument, const ConstMatrixRef& values);

/// Requires the matrix to be square, finite, and symmetric to 1e-12 of its largest entry. (Definiteness is
/// checked where the matrix is factored: see covariance_root in factor.hpp.)
void check_symmetric(std::string_view function, std::string_view argument, const ConstMatrixRef& values);

/// Requires non-negative, finite weights with a positive, finite sum. The sum need not be one.
void check_weights(std::string_view function, std::string_view argument, const ConstVectorRef& weights);

}  // namespace largo
