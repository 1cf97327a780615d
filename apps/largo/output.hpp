// Numbers on standard output: JSON for programs, short tables for people.
#pragma once

#include <string>

#include "io/json.hpp"
#include "largo/runtime/matrix.hpp"

namespace largo {

io::Json to_json(const ConstMatrixRef& matrix);
/// Entries of a row-major vector as a rows x columns array.
io::Json to_json(const ConstVectorRef& values, std::ptrdiff_t rows, std::ptrdiff_t columns);

/// Prints one object and nothing else on standard output, after check_numbers.
void print_json(const io::Json& json);

/// For tables: zero if a risk is only rounding error, compared with the risk of predicting zero.
double shown_risk(double risk, double null_risk);

/// "(1.25, -0.5, …)", six significant digits, at most eight entries.
std::string short_list(const ConstVectorRef& values);

}  // namespace largo
