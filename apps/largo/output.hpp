// Numbers on standard output: JSON for programs, short tables for people.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "largo/runtime/matrix.hpp"

namespace largo {

/// Keys in the order they were added.
using Json = nlohmann::ordered_json;

Json to_json(const ConstMatrixRef& matrix);
/// Entries of a row-major vector as a rows x columns array.
Json to_json(const ConstVectorRef& values, std::ptrdiff_t rows, std::ptrdiff_t columns);

/// JSON has no infinity: "inf", as on the command line.
Json number_json(double value);
/// A length: an integer where it is a whole number below 2^53.
Json length_json(double L);

/// nlohmann-json writes NaN as null: a number that is not finite is an error, not an answer. Call it before
/// anything is written.
void check_numbers(const Json& json);

/// One object, and nothing else, on standard output, after check_numbers.
void print_json(const Json& json);

/// The text of an object: on one line, or indented. Bytes that are not UTF-8 (in the name of a file) become
/// U+FFFD.
std::string to_text(const Json& json, int indent = -1);

/// For people: zero where a risk is nothing but rounding beside that of predicting zero.
double shown_risk(double risk, double null_risk);

/// "(1.25, -0.5, …)", six significant digits, at most eight entries.
std::string short_list(const ConstVectorRef& values);

}  // namespace largo
